package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// The noise multipliers that CalibrateNoiseMultiplier looks at.
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
	if err := validateSearch(event, steps, target); err != nil {
		return 0, err
	}
	b := budget{a: a, target: target}
	// Epsilon is close to a power of σ, so the search is for log σ.
	noise := func(x float64) Event { return event(math.Exp(x)) }
	x, root, err := b.root(noise, steps, 0, math.Log(minCalibrated), math.Log(maxCalibrated))
	switch {
	case err != nil:
		return 0, err
	case root == numeric.Negative:
		return math.Exp(math.Log(minCalibrated)), nil // the very number that was asked about
	case root == numeric.Positive:
		return 0, fmt.Errorf("%w: epsilon %v at delta %v for %d steps: the %s accountant exceeds it with noise multiplier %.3g still",
			ErrUnreachable, target.Epsilon, target.Delta, steps, a.Name(), maxCalibrated)
	}
	return math.Exp(x), nil
}

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

// validateSearch checks what the solvers over a real parameter have in common.
func validateSearch(event func(float64) Event, steps int, target Guarantee) error {
	if err := ValidateTarget(target); err != nil {
		return err
	}
	if steps < 1 {
		return fmt.Errorf("%w: number of steps is %d, must be at least 1", ErrInvalid, steps)
	}
	if event == nil {
		return fmt.Errorf("%w: event is nil, want a function", ErrInvalid)
	}
	return nil
}
