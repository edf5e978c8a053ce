package account

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/chart"
)

// logarithmicFrom is the ratio of the largest to the least ε above which the axis of ε is
// logarithmic.
const logarithmicFrom = 30

// Chart returns a chart of ε over steps. Compare must have been asked for curves.
func (c *Comparison) Chart() chart.Chart {
	d := chart.Chart{Title: fmt.Sprintf("ε over steps at δ = %g, %s", c.Delta, cmp.Or(c.Unit, c.Relation)), X: "steps", Y: "ε"}
	least, most := math.Inf(1), 0.0
	limit := offChart * c.leastEpsilon()
	var off []string
	for _, a := range c.Accountants {
		if a.Epsilon != nil && *a.Epsilon > limit && len(a.Curve) > 0 {
			off = append(off, a.Accountant+" "+accountant.RoundUp(*a.Epsilon, 2))
			continue
		}
		line := a.line()
		if len(line.Points) == 0 {
			continue
		}
		d.Lines = append(d.Lines, line)
		for _, p := range line.Points {
			least, most = min(least, p.Y), max(most, p.Y)
		}
	}
	d.Logarithmic = most > logarithmicFrom*least
	d.Subtitle = c.subtitle()
	if len(d.Lines) == 0 {
		d.Subtitle += "; no accountant has an answer"
	}
	if len(off) > 0 {
		d.Subtitle += "; off the chart: " + strings.Join(off, ", ")
	}
	return d
}

// subtitle returns a line that says what was released.
func (c Subject) subtitle() string {
	s := fmt.Sprintf("%d releases", c.Releases)
	if c.Run != "" {
		s += " of " + c.Run
	}
	if c.NoiseMultiplier > 0 {
		s = fmt.Sprintf("noise multiplier %.6g, sampling probability %.6g", c.NoiseMultiplier, c.SamplingProbability)
	}
	if c.GroupSize > 1 {
		s += fmt.Sprintf(", groups of %d records", c.GroupSize)
	}
	return s
}

// line returns the curve of an accountant, named by the accountant and its last ε.
func (c Compared) line() chart.Line {
	l := chart.Line{Name: c.Accountant}
	if c.Estimate {
		l.Name, l.Style = l.Name+" (estimate)", chart.Dashed
	}
	for _, s := range c.Curve {
		if s.Epsilon > 0 {
			l.Points = append(l.Points, chart.Point{X: float64(s.Steps), Y: s.Epsilon})
		}
	}
	if n := len(l.Points); n > 0 {
		l.Name += " " + accountant.RoundUp(l.Points[n-1].Y, 2)
	}
	return l
}

// offChart is how many times the least ε the last ε of a line may be. A line beyond it is not
// drawn, as it would squeeze the others together.
const offChart = 20

// leastEpsilon returns the smallest ε above 0 that is a bound, +Inf if there is none.
func (c *Comparison) leastEpsilon() float64 {
	least := math.Inf(1)
	for _, a := range c.Accountants {
		if a.Epsilon != nil && !a.Estimate && *a.Epsilon > 0 {
			least = min(least, *a.Epsilon)
		}
	}
	return least
}
