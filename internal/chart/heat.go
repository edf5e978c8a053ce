package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a table of numbers as a picture: the larger the number, the darker its cell.
type Heat struct {
	Title, Subtitle string
	X, Y            string   // what columns and rows stand for
	Columns, Rows   []string // their values, from left to right and from top to bottom
	Cells           [][]Cell // of each row
}

// Cell is one number. A cell whose value is not a number stays empty.
type Cell struct {
	Value float64
	Text  string // how it is written
}

func (h Heat) Write(path string) error {
	return writeFile(path, width, h.height(headOf(h.Title, h.Subtitle)), h.draw)
}

func (h Heat) Inline(label string) ([]byte, error) {
	h.Title, h.Subtitle = "", ""
	return inline(label, inlineWidth, h.height(bareHead), h.draw)
}

// Lengths of a heat map in points.
const (
	cellHeight = 22
	heatFoot   = 44 // for values and name of the columns
	heatLabel  = 12 // characters of the value of a row
)

func (h Heat) height(head vg.Length) vg.Length {
	return head + heatFoot + cellHeight*vg.Length(len(h.Rows))
}

func (h Heat) draw(on draw.Canvas) {
	var left vg.Length
	for _, row := range h.Rows {
		left = max(left, in(grey).Width(cut(row, heatLabel)))
	}
	left += margin/2 + 6
	top := on.Max.Y - headOf(h.Title, h.Subtitle)
	cell := vg.Point{X: (on.Max.X - margin/2 - left) / vg.Length(max(1, len(h.Columns))), Y: cellHeight}
	if h.Title != "" || h.Subtitle != "" {
		drawTitle(on, left, h.Title, h.Subtitle)
	}
	on.FillText(in(ink), vg.Point{X: left, Y: top + 10}, h.Y+" ↓")
	least, most := h.span()
	for i, row := range h.Cells {
		y := top - cellHeight*vg.Length(i+1)
		on.FillText(aligned(grey, text.XRight), vg.Point{X: left - 6, Y: y + cellHeight/2}, cut(h.Rows[i], heatLabel))
		for j, c := range row {
			if !math.IsNaN(c.Value) {
				c.draw(on, vg.Point{X: left + cell.X*vg.Length(j), Y: y}, cell, share(c.Value, least, most))
			}
		}
	}
	bottom := top - cellHeight*vg.Length(len(h.Rows))
	for j, column := range h.Columns {
		on.FillText(aligned(grey, text.XCenter), vg.Point{X: left + cell.X*(vg.Length(j)+0.5), Y: bottom - 10}, fitting(column, cell.X))
	}
	on.FillText(aligned(ink, text.XRight), vg.Point{X: on.Max.X - margin/2, Y: bottom - 28}, h.X+" →")
}

// draw fills one cell, with its number where there is room.
func (c Cell) draw(on draw.Canvas, at, size vg.Point, share float64) {
	on.SetColor(shade(share))
	on.Fill(vg.Rectangle{Min: vg.Point{X: at.X + 0.5, Y: at.Y + 0.5}, Max: vg.Point{X: at.X + size.X - 0.5, Y: at.Y + size.Y - 0.5}}.Path())
	on.FillText(aligned(textOn(share), text.XCenter), vg.Point{X: at.X + size.X/2, Y: at.Y + size.Y/2 + 1}, fitting(c.Text, size.X))
}

func fitting(s string, room vg.Length) string {
	if in(ink).Width(s) > room-2 {
		return ""
	}
	return s
}

func (h Heat) span() (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, row := range h.Cells {
		for _, c := range row {
			if !math.IsNaN(c.Value) {
				least, most = min(least, c.Value), max(most, c.Value)
			}
		}
	}
	return least, most
}

// share returns the position of a number between the least and the largest, from 0 to 1.
func share(value, least, most float64) float64 {
	if !(most > least) {
		return 0
	}
	return (value - least) / (most - least)
}

// The colours of the least and of the largest number, and of text on them.
var (
	pale, deep = color.NRGBA{0xe6, 0xf0, 0xf7, 0xff}, color.NRGBA{0x06, 0x3a, 0x66, 0xff}
	onPale     = color.NRGBA{1, 1, 1, 0xff}
	onDeep     = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

func shade(share float64) color.NRGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + share*(float64(b)-float64(a)))) }
	return color.NRGBA{mix(pale.R, deep.R), mix(pale.G, deep.G), mix(pale.B, deep.B), 0xff}
}

// textOn returns the colour for text on a shade: the one of the two with more contrast, by the Web
// Content Accessibility Guidelines 2.1.
func textOn(share float64) color.NRGBA {
	const bothAlike = 0.6511
	if share < bothAlike {
		return onPale
	}
	return onDeep
}

// aligned returns the style of text in a colour, with x as its alignment to its place.
func aligned(c color.Color, x text.XAlignment) text.Style {
	s := in(c)
	s.XAlign = x
	return s
}

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
