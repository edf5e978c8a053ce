package chart

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Intervals is a figure of values with their intervals, one below the other.
type Intervals struct {
	Title, Subtitle string
	X               string // what the axis shows
	Rows            []Interval
	Series          []string // names of groups of rows, each with a colour of its own; none for one group
	Zero            bool     // draw a line at 0: values are differences
}

// Interval is one value between two bounds.
type Interval struct {
	Name             string
	Value, Low, High float64
	Series           int // index into Intervals.Series
}

func (i Intervals) Write(path string) error { return writeFile(path, width, i.height(head), i.draw) }

func (i Intervals) Inline(label string) ([]byte, error) {
	i.Title, i.Subtitle = "", ""
	return inline(label, inlineWidth, i.height(bareHead), i.draw)
}

// intervalHeight is the height of one row, in points.
const intervalHeight = 17

func (i Intervals) height(head vg.Length) vg.Length {
	return head + 2*margin + intervalHeight*vg.Length(len(i.Rows))
}

func (i Intervals) draw(on draw.Canvas) {
	drawTitle(on, margin, i.Title, i.Subtitle)
	if len(i.Rows) == 0 {
		return
	}
	p, area := i.plot(), draw.Crop(on, margin/2, -margin, margin/2, -headOf(i.Title, i.Subtitle))
	p.Draw(area)
	at := vg.Point{X: margin, Y: area.Max.Y + 10}
	for series, name := range i.Series {
		style := in(palette[series%len(palette)])
		name = "● " + cut(name, inlineName)
		on.FillText(style, at, name)
		at.X += style.Width(name) + nameGap
	}
}

func (i Intervals) plot() *plot.Plot {
	rows := slices.Clone(i.Rows) // gonum.org/v1/plot counts from below
	slices.Reverse(rows)
	names := make([]string, len(rows))
	for n, row := range rows {
		names[n] = cut(row.Name, heatLabel)
	}
	p := newPlot(i.X)
	p.NominalY(names...)
	p.Y.Padding, p.Y.Min, p.Y.Max = 0, -0.6, float64(len(rows))-0.4
	p.Add(&plotter.Grid{Vertical: grid})
	if i.Zero {
		p.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: p.Y.Min}, {X: 0, Y: p.Y.Max}}, LineStyle: draw.LineStyle{Color: grey, Width: 1.1, Dashes: []vg.Length{1.1, 2.6}}})
	}
	for series := range max(1, len(i.Series)) {
		addSeries(p, rows, series)
	}
	return p
}

// addSeries adds to p the finite rows of one series, in its colour.
func addSeries(p *plot.Plot, rows []Interval, series int) {
	var bars plotter.XErrorBars
	var dots plotter.XYs
	for y, row := range rows {
		if row.Series == series && plotter.CheckFloats(row.Value, row.Low, row.High) == nil {
			dots = append(dots, Point{X: row.Value, Y: float64(y)})
			bars.XYs = append(bars.XYs, dots[len(dots)-1])
			bars.XErrors = append(bars.XErrors, struct{ Low, High float64 }{row.Low - row.Value, row.High - row.Value})
		}
	}
	if len(dots) == 0 {
		return
	}
	colour := palette[series%len(palette)]
	bars.LineStyle, bars.CapWidth = draw.LineStyle{Color: colour, Width: 1.4}, 5
	p.Add(&bars, &plotter.Scatter{XYs: dots, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: 3, Shape: draw.CircleGlyph{}}})
}
