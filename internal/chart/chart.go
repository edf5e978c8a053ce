// Package chart draws lines over numbers, tables of numbers as colours, and values with intervals,
// by gonum.org/v1/plot: as SVG or PNG files, or as SVG for a page. The name of a line stands where
// it ends, in its colour; there is no legend. Colour-blind readers can tell the colours apart, and
// lines that lie on each other differ in width and dashes too. The same value gives the same bytes.
package chart

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a figure of lines.
type Chart struct {
	Title, Subtitle string
	X, Y            string // what the axes show
	Lines           []Line // the first ones are drawn first
	Logarithmic     bool   // the y axis; a value that is not positive is then left out
	LogarithmicX    bool   // the x axis, in the same way
	Tight           bool   // the y axis begins near the least value, not at zero
}

// Line is a series of points with a name. Points that are not finite are left out, and so is a line
// without points.
type Line struct {
	Name   string
	Points []Point // in the order in which they are joined
	Style  Style
}

// Point is one pair of numbers: X, Y.
type Point = plotter.XY

// Style says how a line looks.
type Style int

const (
	Solid  Style = iota // points are joined; one alone is a dot
	Dashed              // points are joined by a thin, grey, dashed line: an estimate, a reference
	Marked              // points are joined, and each is a dot
	Dots                // each point is a dot
)

func (c Chart) Write(path string) error { return writeFile(path, width, height, c.draw) }

// inlineName bounds the characters of a line's name beside an inline figure.
const inlineName = 16

func (c Chart) Inline(label string) ([]byte, error) {
	c.Title, c.Subtitle = "", ""
	c.Lines = slices.Clone(c.Lines)
	for i, l := range c.Lines {
		c.Lines[i].Name = cut(l.Name, inlineName)
	}
	return inline(label, inlineWidth, inlineHeight, c.draw)
}

// Lengths in points, 4/3 of a pixel. Title, subtitle and name of the y axis are in the head.
const (
	width, height                  = 675, 390
	margin, head                   = 24, 76
	bareHead                       = 30 // without title and subtitle
	textSize, textHeight vg.Length = 10.5, 13
	nameGap              vg.Length = 12 // between the end of the x axis and the names of the lines
)

var (
	paper = color.White
	ink   = color.NRGBA{0x22, 0x26, 0x2e, 0xff}
	grey  = color.NRGBA{0x6b, 0x72, 0x7d, 0xff}
	// The grid is drawn after the axes, so it is translucent.
	grid = draw.LineStyle{Color: color.NRGBA{0x22, 0x26, 0x2e, 0x20}, Width: 0.75}
	sans = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, textSize)

	// Okabe, Ito 2008, "Color Universal Design", without the yellow that is too light for lines.
	palette = []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x22, 0x26, 0x2e, 0xff},
	}
	// Lines that lie on each other differ in dashes and width.
	strokes = []draw.LineStyle{
		{Width: 3.4}, {Width: 1.5, Dashes: []vg.Length{7, 4}}, {Width: 1.5}, {Width: 1.5, Dashes: []vg.Length{2, 3}},
	}
)

// stroke returns colour, width and dashes of l, which is line i of its chart.
func (l Line) stroke(i int) draw.LineStyle {
	if l.Style == Dashed {
		return draw.LineStyle{Color: grey, Width: 1.1, Dashes: []vg.Length{1.1, 2.6}}
	}
	s := strokes[i%len(strokes)]
	s.Color = palette[i%len(palette)]
	return s
}

// in returns the style of text in a colour that begins at its place and runs to the right.
func in(c color.Color) text.Style {
	return text.Style{Color: c, Font: sans, XAlign: text.XLeft, YAlign: text.YCenter, Handler: plot.DefaultTextHandler}
}

func (c Chart) draw(on draw.Canvas) {
	c.Lines = c.drawable()
	left := vg.Length(margin)
	if len(c.Lines) > 0 {
		left = c.drawPlot(on).X
	}
	drawTitle(on, left, c.Title, c.Subtitle)
}

// drawTitle writes title and subtitle above a figure. They begin at left.
func drawTitle(on draw.Canvas, left vg.Length, title, subtitle string) {
	fill(on, in(ink), vg.Point{X: left, Y: on.Max.Y - margin}, title, 1)
	fill(on, in(grey), vg.Point{X: left, Y: on.Max.Y - margin - 16}, subtitle, 2)
}

func headOf(title, subtitle string) vg.Length {
	if title == "" && subtitle == "" {
		return bareHead
	}
	return head
}

// properties returns the colours that a page may replace, by the names of their CSS properties.
func properties() map[string]color.NRGBA {
	names := map[string]color.NRGBA{"ink": ink, "grey": grey}
	for i, c := range palette[:len(palette)-1] { // the last one is ink
		names[strconv.Itoa(i)] = c
	}
	return names
}

// drawPlot draws everything below the subtitle and returns where the axes meet.
func (c Chart) drawPlot(on draw.Canvas) vg.Point {
	var names vg.Length
	for _, l := range c.Lines {
		names = max(names, in(ink).Width(l.Name))
	}
	p, area := c.plot(), draw.Crop(on, margin, -nameGap-names-margin/2, margin/2, -headOf(c.Title, c.Subtitle))
	p.Draw(area)
	area = p.DataCanvas(area)
	y := c.Y
	switch {
	case c.Logarithmic:
		y += ", log scale"
	case p.Y.Min > 0:
		y += ", axis not from 0"
	}
	on.FillText(in(ink), vg.Point{X: area.Min.X, Y: area.Max.Y + 10}, y)
	c.drawNames(area, p)
	return area.Min
}

// drawable returns the lines without the points that cannot be drawn, and no line without points.
func (c Chart) drawable() []Line {
	var lines []Line
	for _, l := range c.Lines {
		l.Points = slices.DeleteFunc(slices.Clone(l.Points), func(p Point) bool {
			return plotter.CheckFloats(p.X, p.Y) != nil || c.Logarithmic && p.Y <= 0 || c.LogarithmicX && p.X <= 0
		})
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// leastSpan is the smallest range, in units of the axis such as per cent, of a y axis that does not
// begin at zero: differences by chance shall not look like a cliff.
const leastSpan = 2

// plot returns the axes and the lines. The x axis includes zero unless it is logarithmic; so does the y
// axis, unless it is logarithmic or tight. There is a little room above the lines.
func (c Chart) plot() *plot.Plot {
	p := newPlot(c.X)
	p.Add(&plotter.Grid{Horizontal: grid})
	for i, l := range c.Lines {
		stroke := l.stroke(i)
		if l.Style != Dots {
			p.Add(&plotter.Line{XYs: l.Points, LineStyle: stroke})
		}
		if l.Style == Marked || l.Style == Dots || len(l.Points) == 1 {
			p.Add(&plotter.Scatter{XYs: l.Points, GlyphStyle: draw.GlyphStyle{Color: stroke.Color, Radius: 2.5, Shape: draw.CircleGlyph{}}})
		}
	}
	if c.LogarithmicX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, logarithmicTicks{}
	} else {
		p.X.Min = min(0, p.X.Min)
	}
	switch {
	case c.Logarithmic:
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logarithmicTicks{}
		p.Y.Min, p.Y.Max = p.Y.Min/1.04, p.Y.Max*1.04
	case c.Tight:
		room := max(0.06*(p.Y.Max-p.Y.Min), (leastSpan-(p.Y.Max-p.Y.Min))/2)
		p.Y.Min, p.Y.Max = p.Y.Min-room, p.Y.Max+room
	default:
		p.Y.Min = min(0, p.Y.Min)
		p.Y.Max += 0.04 * (p.Y.Max - p.Y.Min)
	}
	return p
}

// newPlot returns an empty plot in this package's style, with x as the name of the x axis.
func newPlot(x string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.X.Label.TextStyle.Color, p.X.Label.TextStyle.Font, p.X.Label.Padding = x, ink, sans, 5
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding, axis.Color, axis.Width, axis.Tick.Length = 0, grey, grid.Width, 4
		axis.Tick.Marker, axis.Tick.LineStyle, axis.Tick.Label.Color, axis.Tick.Label.Font = linearTicks{}, axis.LineStyle, grey, sans
	}
	return p
}

// drawNames writes the name of each line where it ends, or no name if there is no room for all.
func (c Chart) drawNames(area draw.Canvas, p *plot.Plot) {
	if textHeight*vg.Length(len(c.Lines)) > area.Max.Y-area.Min.Y+textHeight {
		return
	}
	x, y := p.Transforms(&area)
	ends := make([]vg.Point, len(c.Lines))
	for i, l := range c.Lines {
		last := l.Points[len(l.Points)-1]
		ends[i] = vg.Point{X: x(last.X), Y: y(last.Y)}
	}
	for i, at := range apart(ends, area.Min.Y, area.Max.Y) {
		colour, name := c.Lines[i].stroke(i).Color, area.Max.X+nameGap
		// Within the axes the leader would read as data.
		area.StrokeLine2(draw.LineStyle{Color: colour, Width: 0.6}, area.Max.X+2, ends[i].Y, name-3, at)
		area.FillText(in(colour), vg.Point{X: name, Y: at + 1}, c.Lines[i].Name)
	}
}

// apart returns the heights of names near the ends of their lines, so that names do not overlap.
func apart(ends []vg.Point, bottom, top vg.Length) []vg.Length {
	order, heights := make([]int, len(ends)), make([]vg.Length, len(ends))
	for i, end := range ends {
		order[i], heights[i] = i, end.Y
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[a], heights[b]) })
	for _, i := range order { // push up what would overlap
		heights[i] = max(heights[i], bottom)
		bottom = heights[i] + textHeight
	}
	for _, i := range slices.Backward(order) { // and down again what would leave the picture
		heights[i] = min(heights[i], top)
		top = heights[i] - textHeight
	}
	return heights
}

// linearTicks places ticks as the library does, with shorter labels: 25, not 25.00.
type linearTicks struct{}

func (linearTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if !t.IsMinor() {
			ticks[i].Label = label(t.Value)
		}
	}
	return ticks
}

// logarithmicTicks places ticks at powers of ten, at most nine of them, and at twice and five times
// these over few decades. The library's own ticks have no upper bound, and no label within a
// decade.
type logarithmicTicks struct{}

func (logarithmicTicks) Ticks(low, high float64) []plot.Tick {
	first, last := math.Log10(low), math.Log10(high)
	if last-first < 1 {
		return linearTicks{}.Ticks(low, high)
	}
	factors := []float64{1, 2, 5}
	if last-first > 3 {
		factors = factors[:1]
	}
	var ticks []plot.Tick
	for e := math.Floor(first); e <= last; e += math.Ceil((last - first) / 8) {
		for _, factor := range factors {
			value := factor * math.Pow(10, e)
			ticks = append(ticks, plot.Tick{Value: value, Label: label(value)})
		}
	}
	return ticks
}

func label(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

// fill writes a text from a place on, broken into at most the given number of lines within the
// figure.
func fill(on draw.Canvas, style text.Style, at vg.Point, text string, lines int) {
	for i, line := range broken(style, text, on.Max.X-margin/2-at.X, lines) {
		on.FillText(style, vg.Point{X: at.X, Y: at.Y - vg.Length(i)*textHeight}, line)
	}
}

// broken breaks a text at spaces into lines of at most a width. What does not fit the last line is
// cut.
func broken(style text.Style, text string, width vg.Length, lines int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if style.Width(longer) > width && line != "" && len(out)+1 < lines {
			out, longer = append(out, line), word
		}
		line = longer
	}
	if style.Width(line) > width {
		runes := []rune(line)
		for len(runes) > 0 && style.Width(string(runes)+"…") > width {
			runes = runes[:len(runes)-1]
		}
		line = string(runes) + "…"
	}
	return append(out, line)
}
