package account

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/internal/chart"
)

// Tradeoff says what releases let somebody find out who wants to know whether one record was there.
type Tradeoff struct {
	Accountant string `json:"accountant"`
	Subject

	Epsilons  []accountant.ProfilePoint `json:"epsilons"` // ε at many δ
	Curve     []Errors                  `json:"curve"`
	BestGuess float64                   `json:"best_guess"` // right answers at most, where both are equally likely

	// At the δ of the question: bounds of what is believed after, but for results that have
	// together a probability of at most Except.
	Epsilon float64             `json:"epsilon"`
	Delta   float64             `json:"delta"`
	Beliefs []accountant.Belief `json:"beliefs"`
	Except  float64             `json:"except"`
}

// Errors holds the errors of the best test: it takes data without the record for data with it in a share
// of FalsePositive, and misses the record in a share of at least FalseNegative.
type Errors struct {
	FalsePositive float64 `json:"false_positive"` // type I, α
	FalseNegative float64 `json:"false_negative"` // type II, β
}

// deltas lists the δ at which ε is told.
var deltas = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}

// falsePositives lists the false alarms at which the curve is told: powers of ten and what lies between them,
// and even steps from a tenth on.
func falsePositives() []float64 {
	all := []float64{0}
	for power := -6; power < -1; power++ {
		for _, digit := range []float64{1, 2, 5} {
			all = append(all, digit/math.Pow10(-power))
		}
	}
	for percent := 10; percent <= 100; percent += 5 {
		all = append(all, float64(percent)/100)
	}
	return all
}

// AskTradeoff answers for the accountant of the question, at its δ; what it says Unknown does not
// matter. A refusal matches accountant.ErrUnsupported or accountant.ErrUncertified.
func AskTradeoff(q Question) (*Tradeoff, error) {
	q.Unknown = Epsilon
	var answerer Answerer
	spent, err := answerer.Answer(q)
	if err != nil {
		return nil, err
	}
	asked, err := answerer.accountant(q.View)
	if err != nil {
		return nil, err
	}
	v := viewer{Accountant: asked, groupSize: q.GroupSize, divisor: max(1, q.Divisor)}
	curve, err := accountant.TradeoffOf(v, q.Ledger)
	if err != nil {
		return nil, err
	}
	t := &Tradeoff{
		Accountant: spent.Accountant, Subject: q.subject(), BestGuess: curve.BestGuess(), Epsilon: spent.Epsilon, Delta: q.Delta,
	}
	for _, alpha := range falsePositives() {
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

// Chart draws the curve beside that of guessing.
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
