package questions

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/account"
)

// chart is lines over steps, laid out on a canvas of fixed size in pixels.
type chart struct {
	title, subtitle string
	x, y            string // what the axes show
	lines           []chartLine
	logarithmic     bool // the y axis
}

// chartLine is one line with its name.
type chartLine struct {
	name   string
	points []account.Point
	dashed bool
}

// canvas is what a chart is drawn on. Coordinates are pixels from the top left corner.
type canvas interface {
	line(points []point, c color.RGBA, width float64, dashes []float64)
	text(at point, text string, c color.RGBA, a align)
}

type point struct{ x, y float64 }

type align int

const (
	alignLeft align = iota
	alignCentre
	alignRight
)

// Geometry in pixels.
const (
	chartWidth, chartHeight = 900, 520
	chartLeft, chartRight   = 84, 190 // margins; names of lines are in the right one
	chartTop, chartBottom   = 92, 62
	textHeight              = 17
)

var (
	ink  = color.RGBA{0x22, 0x26, 0x2e, 0xff}
	grey = color.RGBA{0x6b, 0x72, 0x7d, 0xff}
	grid = color.RGBA{0xe3, 0xe6, 0xea, 0xff}
	// Okabe, Ito 2008, "Color Universal Design", without the yellow that is too light for lines.
	palette = []color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x22, 0x26, 0x2e, 0xff},
	}
	// Lines that lie on each other differ in dashes and width.
	strokes = []struct {
		width  float64
		dashes []float64
	}{{4.5, nil}, {2, []float64{9, 5}}, {2, nil}, {2, []float64{2.5, 4}}}
)

// logarithmicFrom is the ratio of the largest to the least value from which a logarithmic axis shows more.
const logarithmicFrom = 30

// chart is the comparison's ε over steps. Curves must have been asked for.
func (c *Comparison) chart() chart {
	d := chart{
		title:    fmt.Sprintf("ε over steps at δ = %g, %s", c.Delta, c.Relation),
		subtitle: fmt.Sprintf("%d releases", c.Releases),
		x:        "steps", y: "ε",
	}
	if c.Run != "" {
		d.subtitle += " of " + c.Run
	}
	if c.NoiseMultiplier > 0 {
		d.subtitle = fmt.Sprintf("noise multiplier %.6g, sampling probability %.6g", c.NoiseMultiplier, c.SamplingProbability)
	}
	if c.GroupSize > 1 {
		d.subtitle += fmt.Sprintf(", groups of %d records", c.GroupSize)
	}
	least, most := math.Inf(1), 0.0
	limit := offChart * c.leastEpsilon()
	var off []string
	for _, a := range c.Accountants {
		if a.Epsilon != nil && *a.Epsilon > limit && len(a.Curve) > 0 {
			off = append(off, fmt.Sprintf("%s %.4g", a.Accountant, *a.Epsilon))
			continue
		}
		points := slices.DeleteFunc(slices.Clone(a.Curve), func(s account.Point) bool { return !(s.Epsilon > 0) })
		if len(points) == 0 {
			continue
		}
		name := a.Accountant
		if a.Estimate {
			name += " (estimate)"
		}
		d.lines = append(d.lines, chartLine{name, points, a.Estimate})
		for _, p := range points {
			least, most = min(least, p.Epsilon), max(most, p.Epsilon)
		}
	}
	d.logarithmic = most > logarithmicFrom*least
	if len(off) > 0 {
		d.subtitle += "; off the chart: " + strings.Join(off, ", ")
	}
	return d
}

// offChart is how many times the least ε a line may end at. One that is further up would squeeze the others together.
const offChart = 20

// leastEpsilon is the smallest answer that is a bound.
func (c *Comparison) leastEpsilon() float64 {
	least := math.Inf(1)
	for _, a := range c.Accountants {
		if a.Epsilon != nil && !a.Estimate && *a.Epsilon > 0 {
			least = min(least, *a.Epsilon)
		}
	}
	return least
}

// frame maps values to pixels.
type frame struct {
	steps, low, high float64 // of the axes
	logarithmic      bool
}

func (c chart) frame() frame {
	f := frame{steps: 1, low: math.Inf(1), logarithmic: c.logarithmic}
	for _, l := range c.lines {
		for _, p := range l.points {
			f.steps = max(f.steps, float64(p.Steps))
			f.low, f.high = min(f.low, p.Epsilon), max(f.high, p.Epsilon)
		}
	}
	if !c.logarithmic {
		f.low = 0
	} else if f.low == f.high {
		f.low /= 2
	}
	f.high *= 1.04
	return f
}

func (f frame) at(steps, epsilon float64) point {
	share := (epsilon - f.low) / (f.high - f.low)
	if f.logarithmic {
		share = math.Log(epsilon/f.low) / math.Log(f.high/f.low)
	}
	return point{
		chartLeft + (chartWidth-chartLeft-chartRight)*steps/f.steps,
		chartHeight - chartBottom - (chartHeight-chartTop-chartBottom)*share,
	}
}

// draw draws everything.
func (c chart) draw(on canvas) {
	on.text(point{chartLeft, 30}, c.title, ink, alignLeft)
	on.text(point{chartLeft, 52}, c.subtitle, grey, alignLeft)
	if len(c.lines) == 0 {
		on.text(point{chartWidth / 2, chartHeight / 2}, "no accountant has an answer", grey, alignCentre)
		return
	}
	f := c.frame()
	c.drawAxes(on, f)
	for i, l := range c.lines {
		colour, width, dashes := l.stroke(i)
		var path []point
		for _, p := range l.points {
			path = append(path, f.at(float64(p.Steps), p.Epsilon))
		}
		if len(path) == 1 { // a point is a line too short to see
			path = append([]point{{path[0].x - 3, path[0].y}}, point{path[0].x + 3, path[0].y})
		}
		on.line(path, colour, width, dashes)
	}
	c.drawNames(on, f)
}

func (l chartLine) stroke(i int) (color.RGBA, float64, []float64) {
	if l.dashed {
		return grey, 1.5, []float64{1.5, 3.5}
	}
	s := strokes[i%len(strokes)]
	return palette[i%len(palette)], s.width, s.dashes
}

func (c chart) drawAxes(on canvas, f frame) {
	left, right := f.at(0, f.high), f.at(f.steps, f.high)
	for _, y := range f.ticks() {
		at := f.at(0, y)
		on.line([]point{at, {right.x, at.y}}, grid, 1, nil)
		on.text(point{at.x - 8, at.y + 5}, shortNumber(y), grey, alignRight)
	}
	bottom := f.at(0, f.low)
	for _, x := range linearTicks(0, f.steps, 6) {
		at := f.at(x, f.low)
		on.line([]point{at, {at.x, at.y + 5}}, grey, 1, nil)
		on.text(point{at.x, at.y + 22}, shortNumber(x), grey, alignCentre)
	}
	on.line([]point{{left.x, left.y}, bottom, {right.x, bottom.y}}, grey, 1, nil)
	on.text(point{(left.x + right.x) / 2, chartHeight - 14}, c.x, ink, alignCentre)
	name := c.y
	if f.logarithmic {
		name += ", log scale"
	}
	on.text(point{left.x, left.y - 6}, name, ink, alignLeft)
}

// drawNames writes the name of each line and its last value where it ends, in its colour, one below the other.
func (c chart) drawNames(on canvas, f frame) {
	type label struct {
		y      float64
		line   int
		ending point
	}
	var labels []label
	for i, l := range c.lines {
		last := l.points[len(l.points)-1]
		at := f.at(float64(last.Steps), last.Epsilon)
		labels = append(labels, label{at.y, i, at})
	}
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(b.y, a.y) }) // the lowest line first
	lowest := float64(chartHeight - chartBottom)
	for i := range labels { // push up what would overlap
		labels[i].y = min(labels[i].y, lowest)
		lowest = labels[i].y - textHeight
	}
	highest := float64(chartTop)
	for i := len(labels) - 1; i >= 0 && labels[i].y < highest; i-- { // and down again what would leave the picture
		labels[i].y = highest
		highest += textHeight
	}
	for _, l := range labels {
		colour, _, _ := c.lines[l.line].stroke(l.line)
		x := float64(chartWidth - chartRight)
		on.line([]point{{l.ending.x + 3, l.ending.y}, {x + 12, l.y}}, colour, 0.8, nil)
		points := c.lines[l.line].points
		on.text(point{x + 16, l.y + 5}, c.lines[l.line].name+" "+accountant.RoundUp(points[len(points)-1].Epsilon, 2), colour, alignLeft)
	}
}

// ticks are the marked values of the y axis.
func (f frame) ticks() []float64 {
	if !f.logarithmic {
		return linearTicks(f.low, f.high, 6)
	}
	var all []float64
	for _, factors := range [][]float64{{1}, {1, 3}, {1, 2, 5}} {
		all = nil
		for e := math.Floor(math.Log10(f.low)); e <= math.Log10(f.high); e++ {
			for _, factor := range factors {
				if y := factor * math.Pow(10, e); y >= f.low && y <= f.high {
					all = append(all, y)
				}
			}
		}
		if len(all) >= 4 {
			break
		}
	}
	for stride := 2; len(all) > 12; stride++ { // very many decades
		all = slices.DeleteFunc(all, func(y float64) bool { return int(math.Round(math.Log10(y)))%stride != 0 })
	}
	return all
}

// linearTicks are multiples of 1, 2 or 5 times a power of ten, about n of them.
func linearTicks(low, high float64, n int) []float64 {
	rough := (high - low) / float64(n)
	stride := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, factor := range []float64{2, 2.5, 2} { // 2, 5, 10
		if stride >= rough {
			break
		}
		stride *= factor
	}
	var all []float64
	for i := math.Ceil(low / stride); i*stride <= high*(1+1e-9); i++ {
		all = append(all, i*stride)
	}
	return all
}

// shortNumber writes a tick: 10k, 0.05.
func shortNumber(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if x >= unit.size && x < 1000*max(unit.size, 1e6) {
			size := unit.size
			if unit.name == "k" {
				size = 1e3
			}
			return strconv.FormatFloat(x/size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
