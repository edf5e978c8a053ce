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
// (Ghosh, Roughgarden, Sundararajan 2009, arXiv:0811.2841), and rounded Gaussian noise.
const (
	Laplace  Noise = "laplace"
	Gaussian Noise = "gaussian"
)

// Noises returns the names of the laws.
func Noises() []string { return []string{string(Laplace), string(Gaussian)} }

// delta is the δ at which the ε of Gaussian noise is given.
const delta = 1e-5

func (n Noise) validate() error {
	if !slices.Contains(Noises(), string(n)) {
		return fmt.Errorf("attack: found the noise %q, expected %s", string(n), strings.Join(Noises(), " or "))
	}
	return nil
}

// forEpsilon returns the parameter of the noise that makes one answer epsilon-private, at [delta]
// for Gaussian noise: the scale of Laplace's law or the standard deviation, in units of what one
// record can change.
func (n Noise) forEpsilon(epsilon float64) (float64, error) {
	if n == Laplace {
		return theorems.LaplaceScale(epsilon)
	}
	return theorems.GaussianNoiseMultiplier(epsilon, delta)
}

// ofDeviation returns the parameter with which the noise has the given standard deviation. The
// deviation of discrete Laplace noise of scale b is 1/(√2·sinh(1/2b)).
func (n Noise) ofDeviation(deviation float64) float64 {
	if n == Laplace {
		return 0.5 / math.Asinh(1/(math.Sqrt2*deviation))
	}
	return deviation
}

// desk answers questions about drawn people with one kind of noise. Its journal holds the events of
// all answers. It is in memory, as nobody's budget is at stake.
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

// count returns the number in sums with noise, or err. It takes both as [ones] returns them.
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

// ones returns how many people in subset have a one, for a desk to add noise; nil is everybody.
func ones(bits []bool, subset []bool) (*answer.Sums, error) {
	buckets := make([]int, len(bits))
	for i, one := range bits {
		if !one || subset != nil && !subset[i] {
			buckets[i] = -1 // not counted
		}
	}
	return answer.NewCounts(buckets, 1)
}

// allowed returns the largest chance to guess one person's bit right, if both values are equally
// likely, after everything in a ledger: (1 + δ(0))/2 by the exact accountant. epsilon: at [delta].
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
