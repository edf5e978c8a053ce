package attack

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/internal/chart"
	"dpsgd/internal/random"
	"dpsgd/internal/score"
	"dpsgd/release"
)

// Differencing is the result of an attack by two questions: how many people have a one, and how
// many people other than one person have. The difference of the answers is the bit of that person.
type Differencing struct {
	Attack string  `json:"attack"`
	Noise  Noise   `json:"noise"`
	People int     `json:"people"`
	Trials int     `json:"trials"` // of each row, each with people drawn anew
	Rows   []Guess `json:"rows"`
}

// Guess counts how often the person's bit is found at one amount of noise. The person is in only
// one of the two answers, so the ε of one answer protects him.
type Guess struct {
	Epsilon    float64     `json:"epsilon,omitempty"` // ε of one answer, at Delta; 0 stands for no noise
	Delta      float64     `json:"delta,omitempty"`
	Difference score.Share `json:"difference"` // by the difference of the two answers
	Informed   score.Share `json:"informed"`   // by somebody who knows all other bits, and so needs one answer

	// Allowed is the rate of the best attack against this noise. Bound is the rate that no attack
	// passes against any mechanism with this ε and δ, (e^ε + δ)/(1 + e^ε) (Kairouz, Oh, Viswanath
	// 2015, arXiv:1311.0776, for two equally likely values).
	Allowed float64 `json:"allowed"`
	Bound   float64 `json:"bound"`
}

var differencingEpsilons = []float64{0.1, 0.5, 1, 2, 4, 8} // of the rows after the one without noise

const peopleCounted = 100 // in a drawn database

// Difference carries out the attack without noise and at several amounts of it, trials times each.
func Difference(n Noise, trials int) (*Differencing, error) {
	if err := n.validate(); err != nil {
		return nil, err
	}
	d := &Differencing{Attack: "differencing", Noise: n, People: peopleCounted, Trials: trials}
	src := random.New()
	for _, epsilon := range append([]float64{0}, differencingEpsilons...) {
		g, err := guess(n, epsilon, trials, src)
		if err != nil {
			return nil, err
		}
		d.Rows = append(d.Rows, g)
	}
	return d, nil
}

// guess tries the attack with noise of ε epsilon, 0 for no noise, and returns one row.
func guess(n Noise, epsilon float64, trials int, src *random.Source) (Guess, error) {
	g := Guess{Epsilon: epsilon, Allowed: 1, Bound: 1}
	var parameter float64
	if epsilon > 0 {
		var err error
		if parameter, err = n.forEpsilon(epsilon); err != nil {
			return g, err
		}
		if n == Gaussian {
			g.Delta = delta
		}
		g.Bound = (1 + g.Delta*math.Exp(-epsilon)) / (1 + math.Exp(-epsilon))
	}
	difference, informed, about, err := tryOften(n, parameter, trials, src)
	if err != nil {
		return g, err
	}
	g.Difference, g.Informed = score.NewShare(difference, trials), score.NewShare(informed, trials)
	if about != nil {
		g.Allowed, _, err = allowed(about.Ledger())
	}
	return g, err
}

// tryOften tries both attacks on trials databases, each drawn anew, and counts how often each finds
// the person's bit. about is the journal of one answer that the person is in; nil without noise.
func tryOften(n Noise, parameter float64, trials int, src *random.Source) (difference, informed int, about *release.MemoryJournal, err error) {
	for range trials {
		bits := drawBits(peopleCounted, src)
		person := int(src.Uint64() % peopleCounted)
		rest := slices.Clone(bits)
		rest[person] = false
		others := 0.0
		for _, one := range rest {
			if one {
				others++
			}
		}
		with, without := others, others
		if bits[person] {
			with++
		}
		if parameter > 0 {
			first, second := newDesk(n, parameter), newDesk(n, parameter)
			if with, err = first.count(ones(bits, nil)); err != nil {
				return 0, 0, nil, err
			}
			if without, err = second.count(ones(rest, nil)); err != nil {
				return 0, 0, nil, err
			}
			about = first.journal
		}
		const between = 0.5 // of the two values that the person can have
		if (with-without > between) == bits[person] {
			difference++
		}
		if (with-others > between) == bits[person] {
			informed++
		}
	}
	return difference, informed, about, nil
}

// drawBits returns a random bit for each person, both values equally likely.
func drawBits(people int, src *random.Source) []bool {
	bits := make([]bool, people)
	for i := range bits {
		bits[i] = src.Uint64()&1 == 1
	}
	return bits
}

// Chart draws the rate of right guesses against ε.
func (d *Differencing) Chart() chart.Chart {
	lines := []chart.Line{
		{Name: "best attack"}, {Name: "difference", Style: chart.Marked}, {Name: "knows the others", Style: chart.Dots}, {Name: "bound by ε", Style: chart.Dashed},
	}
	for _, g := range d.Rows[1:] {
		for i, rate := range []float64{g.Allowed, g.Difference.Accuracy, g.Informed.Accuracy, g.Bound} {
			lines[i].Points = append(lines[i].Points, chart.Point{X: g.Epsilon, Y: 100 * rate})
		}
	}
	return chart.Chart{
		Title: "Differencing: how often one person's bit is found", X: "ε of one answer", Y: "right guesses, %", Tight: true, Lines: lines,
		Subtitle: fmt.Sprintf("%s noise, %d trials each; without noise %.0f %%, by guessing 50 %%", d.Noise, d.Trials, 100*d.Rows[0].Difference.Accuracy),
	}
}
