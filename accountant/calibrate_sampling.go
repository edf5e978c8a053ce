package accountant

import (
	"math"

	"dpsgd/accountant/internal/numeric"
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
// The result is 1 if sampling is not needed, and 0 if a probability of 1e-12 is too much still.
// Arguments and errors are as in CalibrateNoiseMultiplier, except that every target is within
// reach. Epsilon is computed some 12 times.
func MaxSamplingProbability(a Accountant, event func(samplingProbability float64) Event, steps int, target Guarantee) (float64, error) {
	if err := validateSearch(event, steps, target); err != nil {
		return 0, err
	}
	b := budget{a: a, target: target}
	probability := func(x float64) float64 { return min(math.Exp(-x), maxSampled) }
	sampled := func(x float64) Event { return event(probability(x)) }
	x, root, err := b.root(sampled, steps, -math.Log(0.01), 0, -math.Log(minSampled))
	switch {
	case err != nil:
		return 0, err
	case root == numeric.Negative:
		return maxSampled, nil
	case root == numeric.Positive:
		return 0, nil
	}
	return probability(x), nil
}
