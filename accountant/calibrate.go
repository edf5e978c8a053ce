package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// The least and the largest noise multiplier that CalibrateNoiseMultiplier tries.
const (
	minCalibrated = 1e-3
	maxCalibrated = 1e9
)

// CalibrateNoiseMultiplier returns the least noise multiplier for which steps
// releases of event(noiseMultiplier) stay within target by the accountant a: the
// smallest one to a relative 1e-9, on the private side, so the guarantee computed for
// the result is never above target. For a step of DP-SGD, event is
//
//	func(sigma float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
//
// It may be any family of events whose cost does not rise with its argument, for
// instance Laplace by its scale. Epsilon is computed some 12 times.
//
// Results are at least 0.001, also where less noise would do (as it does for q = 0).
// If not even a noise multiplier of 1e9 is within target, for instance because its
// epsilon is below what the orders of an RDP accountant can show, the error
// matches ErrUnreachable. Epsilon must be finite and above 0, delta in (0, 1), steps
// at least 1, and target.Relation the one that a accounts for.
func CalibrateNoiseMultiplier(a Accountant, event func(noiseMultiplier float64) Event, steps int, target Guarantee) (float64, error) {
	// Epsilon is close to a power of σ, so the search is for log σ.
	sigma, reached, err := solve(a, event, math.Exp, steps, target, 0, math.Log(minCalibrated), math.Log(maxCalibrated))
	if err == nil && !reached {
		err = fmt.Errorf("%w: epsilon %v at delta %v for %d steps: the %s accountant exceeds it with noise multiplier %.3g still",
			ErrUnreachable, target.Epsilon, target.Delta, steps, a.Name(), maxCalibrated)
	}
	return sigma, err
}

// The least and the largest sampling probability that MaxSamplingProbability tries.
const (
	minSampled = 1e-12
	maxSampled = 1
)

// MaxSamplingProbability returns the largest sampling probability for which steps
// releases of event(samplingProbability) stay within target by the accountant a, as
// CalibrateNoiseMultiplier does for the noise. It is 1 if sampling is not needed, and 0 if even a
// probability of 1e-12 is too much, so that no target is out of reach.
func MaxSamplingProbability(a Accountant, event func(samplingProbability float64) Event, steps int, target Guarantee) (float64, error) {
	probability := func(x float64) float64 { return min(math.Exp(-x), maxSampled) }
	q, _, err := solve(a, event, probability, steps, target, -math.Log(0.01), 0, -math.Log(minSampled))
	return q, err
}

// solverTolerance is the relative width at which a solver over a real parameter stops.
const solverTolerance = 1e-9

// solve returns parameter(x) at the least x in [least, most] for which steps releases of
// event(parameter(x)) are within the target, or 0 and false if not even most will do. Epsilon must
// fall with x, and be about a power of e^x. The search begins at from.
func solve(a Accountant, event func(float64) Event, parameter func(x float64) float64, steps int, target Guarantee,
	from, least, most float64) (found float64, reached bool, err error) {
	switch err := ValidateTarget(target); {
	case err != nil:
		return 0, false, err
	case steps < 1:
		return 0, false, fmt.Errorf("%w: number of steps is %d, must be at least 1", ErrInvalid, steps)
	case event == nil:
		return 0, false, fmt.Errorf("%w: event is nil, want a function", ErrInvalid)
	}
	b := budget{a: a, target: target}
	excess := func(x float64) float64 { return b.excess(event(parameter(x)), steps) }
	around, root := numeric.Enclose(excess, from, least, most)
	x := least
	if b.err == nil && root == numeric.Inside {
		x = around.Narrow(excess, solverTolerance)
	}
	if b.err != nil || root == numeric.Positive {
		return 0, false, b.err
	}
	return parameter(x), true, nil
}
