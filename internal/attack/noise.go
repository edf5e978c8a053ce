package attack

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/accountant/theorems"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// Noise is a law of the noise on answers.
type Noise string

// The laws: discrete Laplace noise, the one with which a count of a given ε is the best there is
// (Ghosh, Roughgarden, Sundararajan 2009, arXiv:0811.2841), and Gaussian noise, rounded to
// integers.
const (
	Laplace  Noise = "laplace"
	Gaussian Noise = "gaussian"
)

// Noises are the names of the laws.
func Noises() []string { return []string{string(Laplace), string(Gaussian)} }

// delta is at what δ the ε of Gaussian noise is told.
const delta = 1e-5

func (n Noise) validate() error {
	if !slices.Contains(Noises(), string(n)) {
		return fmt.Errorf("attack: found the noise %q, expected %s", string(n), strings.Join(Noises(), " or "))
	}
	return nil
}

// forEpsilon is the noise on one answer, in units of what one record can change, that makes it
// epsilon-private, at [delta] for Gaussian noise: the scale of the one law, the deviation of the
// other.
func (n Noise) forEpsilon(epsilon float64) (float64, error) {
	if n == Laplace {
		return theorems.LaplaceScale(epsilon)
	}
	return theorems.GaussianNoiseMultiplier(epsilon, delta)
}

// ofDeviation returns the parameter for a standard deviation. Discrete Laplace noise of scale b
// deviates by 1/(√2·sinh(1/2b)).
func (n Noise) ofDeviation(deviation float64) float64 {
	if n == Laplace {
		return 0.5 / math.Asinh(1/(math.Sqrt2*deviation))
	}
	return deviation
}

// desk answers questions about drawn people: nobody's budget is at stake, so its journal is in
// memory. It still holds what everything cost.
type desk struct {
	*answer.Desk
	noise     Noise
	parameter float64
	journal   *release.MemoryJournal
}

func newDesk(n Noise, parameter float64) *desk {
	j := new(release.MemoryJournal)
	return &desk{answer.NewDesk(j, nil), n, parameter, j}
}

// count answers how many of the people have a one, with noise, unless there are no sums.
func (d *desk) count(sums *answer.Sums, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	ask := answer.Gaussian
	if d.noise == Laplace {
		ask = answer.DiscreteLaplace
	}
	q, err := ask(sums, d.parameter)
	if err != nil {
		return 0, err
	}
	answers, err := answer.Ask(d.Desk, q)
	if err != nil {
		return 0, err
	}
	return float64(answers[0]), nil
}

// ones returns the sums over the people with a one who are in a subset; nil is everybody.
func ones(bits []bool, subset []bool) (*answer.Sums, error) {
	buckets := make([]int, len(bits))
	for i, one := range bits {
		if !one || subset != nil && !subset[i] {
			buckets[i] = -1 // not counted
		}
	}
	return answer.NewCounts(buckets, 1)
}

// allowed is the largest chance to be right about one person's bit, both being equally likely, and
// the ε at [delta], after everything in a ledger: half of 1 + δ(0), by the exact accountant.
func allowed(l *accountant.Ledger) (rate, epsilon float64, err error) {
	exact, err := accountants.New("exact", accountant.ZeroOut)
	if err != nil {
		return 0, 0, err
	}
	at, err := exact.Delta(l, 0)
	if err != nil {
		return 0, 0, err
	}
	g, err := exact.Guarantee(l, delta)
	return (1 + at.Delta) / 2, g.Epsilon, err
}
