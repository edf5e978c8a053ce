package account

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dpsgd/accountant"
	"dpsgd/internal/chart"
)

// Tradeoff bounds what releases tell somebody who wants to know whether one record was there.
type Tradeoff struct {
	Accountant string `json:"accountant"`
	Subject

	Epsilons  []accountant.ProfilePoint `json:"epsilons"` // ε at many δ
	Curve     []Errors                  `json:"curve"`
	BestGuess float64                   `json:"best_guess"` // see accountant.Tradeoff.BestGuess

	// At the δ of the question: ε, and bounds of beliefs after the release. The bounds fail for
	// results that have together a probability of at most Except.
	Epsilon float64             `json:"epsilon"`
	Delta   float64             `json:"delta"`
	Beliefs []accountant.Belief `json:"beliefs"`
	Except  float64             `json:"except"`
}

// Errors holds the error probabilities of the best test: it takes data without the record for data
// with it with probability FalsePositive, and misses the record with at least FalseNegative.
type Errors struct {
	FalsePositive float64 `json:"false_positive"` // type I, α
	FalseNegative float64 `json:"false_negative"` // type II, β
}

// deltas lists the δ of Tradeoff.Epsilons.
var deltas = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}

// falsePositives lists the false alarm probabilities of the points of Tradeoff.Curve.
var falsePositives = []float64{
	0, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
	0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1,
}

// AskTradeoff returns the curve of q's releases, and beliefs at q.Delta, by q.Accountant. q.Unknown
// is ignored. A refusal matches accountant.ErrUnsupported or accountant.ErrUncertified.
func AskTradeoff(q Question) (*Tradeoff, error) {
	q.Unknown = Epsilon
	var answerer Answerer
	spent, err := answerer.Answer(q)
	if err != nil {
		return nil, err
	}
	v, err := answerer.viewer(q)
	if err != nil {
		return nil, err
	}
	curve, err := accountant.TradeoffOf(v, q.Ledger)
	if err != nil {
		return nil, err
	}
	t := &Tradeoff{
		Accountant: spent.Accountant, Subject: q.subject(), BestGuess: curve.BestGuess(), Epsilon: spent.Epsilon, Delta: q.Delta,
	}
	for _, alpha := range falsePositives {
		t.Curve = append(t.Curve, Errors{alpha, curve.TypeII(alpha)})
	}
	for _, delta := range deltas {
		if g, err := v.Guarantee(q.Ledger, delta); err == nil && !math.IsInf(g.Epsilon, 1) {
			t.Epsilons = append(t.Epsilons, accountant.ProfilePoint{Epsilon: g.Epsilon, Delta: delta})
		}
	}
	t.Beliefs, t.Except = accountant.Beliefs(t.Epsilon, t.Delta)
	return t, nil
}

// Chart returns a chart of the curve, with the line of guessing beside it.
func (t *Tradeoff) Chart() chart.Chart {
	line := chart.Line{Name: "best attack", Style: chart.Solid}
	for _, e := range t.Curve {
		line.Points = append(line.Points, chart.Point{X: e.FalsePositive, Y: e.FalseNegative})
	}
	title := "Errors of whoever asks whether one record was there"
	if t.Unit != "" {
		title = "Errors of whoever asks about " + t.Unit
	}
	return chart.Chart{
		Title: title, X: "false alarms (type I, α)", Y: "misses (type II, β)",
		Subtitle: t.subtitle() + fmt.Sprintf("; ε = %s at δ = %g. No attack lies below the line.", accountant.RoundUp(t.Epsilon, 3), t.Delta),
		Lines:    []chart.Line{line, {Name: "guessing", Style: chart.Dashed, Points: []chart.Point{{X: 0, Y: 1}, {X: 1, Y: 0}}}},
	}
}

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
