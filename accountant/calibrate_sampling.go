package accountant

import (
	"math"

	"dpsgd/accountant/internal/solve"
)

// The sampling probabilities that MaxSamplingProbability looks at, beside 0.
const (
	minSampled = 1e-12
	maxSampled = 1
)

// MaxSamplingProbability returns the largest sampling probability for which steps
// releases of event(samplingProbability) stay within target by the accountant a: the
// largest one to a relative 1e-9, on the private side, so the guarantee computed for
// the result is never above target. For a step of DP-SGD, event is
//
//	func(q float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
//
// The result is 1 if sampling is not needed, and 0 if a probability of 1e-12 is too
// much still. Arguments and errors are those of CalibrateNoiseMultiplier, except
// that every target is within reach. Epsilon is computed some 12 times.
func MaxSamplingProbability(a Accountant, event func(samplingProbability float64) Event, steps int, target Guarantee) (float64, error) {
	if err := validateSearch(event, steps, target); err != nil {
		return 0, err
	}
	b := budget{a: a, target: target}
	probability := func(x float64) float64 { return min(math.Exp(-x), maxSampled) }
	excess := func(x float64) float64 { return b.excess(event(probability(x)), steps) }
	around, root := solve.Enclose(excess, -math.Log(0.01), 0, -math.Log(minSampled))
	switch {
	case b.err != nil:
		return 0, b.err
	case root == solve.Negative:
		return maxSampled, nil
	case root == solve.Positive:
		return 0, nil
	}
	q := probability(around.Narrow(excess, solverTolerance))
	if b.err != nil {
		return 0, b.err
	}
	return q, nil
}
