package chart

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Intervals are values with how sure one can be of them, one below the other.
type Intervals struct {
	Title, Subtitle string
	X               string // what the axis shows
	Rows            []Interval
}

// Interval is one value between two bounds.
type Interval struct {
	Name             string
	Value, Low, High float64
}

// Write implements [Figure].
func (i Intervals) Write(path string) error { return writeFile(path, width, i.height(head), i.draw) }

// Inline implements [Figure].
func (i Intervals) Inline(label string) ([]byte, error) {
	i.Title, i.Subtitle = "", ""
	return inline(label, inlineWidth, i.height(bareHead), i.draw)
}

// intervalHeight is that of one row, in points.
const intervalHeight = 17

func (i Intervals) height(head vg.Length) vg.Length {
	return head + 2*margin + intervalHeight*vg.Length(len(i.Rows))
}

// draw fills a canvas.
func (i Intervals) draw(on draw.Canvas) {
	drawTitle(on, margin, i.Title, i.Subtitle)
	if len(i.Rows) == 0 {
		return
	}
	p := i.plot()
	p.Draw(draw.Crop(on, margin/2, -margin, margin/2, -headOf(i.Title, i.Subtitle)))
}

// interval is what gonum.org/v1/plot draws of the rows, the first one on top.
type interval []Interval

func (rows interval) Len() int                { return len(rows) }
func (rows interval) XY(i int) (x, y float64) { return rows[i].Value, float64(i) }
func (rows interval) XError(i int) (low, high float64) {
	return rows[i].Value - rows[i].Low, rows[i].High - rows[i].Value
}

// plot is everything within the axes.
func (i Intervals) plot() *plot.Plot {
	rows := interval(slices.Clone(i.Rows))
	slices.Reverse(rows)
	names := make([]string, len(rows))
	for n, row := range rows {
		names[n] = cut(row.Name, heatLabel)
	}
	p := newPlot(i.X)
	p.NominalY(names...)
	p.Y.Padding, p.Y.Min, p.Y.Max = 0, -0.6, float64(len(rows))-0.4
	p.Add(&plotter.Grid{Vertical: grid})
	// What makes them fails for numbers alone that are not finite.
	if bars, err := plotter.NewXErrorBars(rows); err == nil {
		bars.LineStyle, bars.CapWidth = draw.LineStyle{Color: palette[0], Width: 1.4}, 5
		p.Add(bars)
	}
	if dots, err := plotter.NewScatter(rows); err == nil {
		dots.GlyphStyle = draw.GlyphStyle{Color: palette[0], Radius: 3, Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
	return p
}
