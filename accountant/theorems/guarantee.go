package theorems

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// ErrInvalid is wrapped by every error about an argument: a number outside its
// range, NaN, or parameters for which a theorem says nothing.
var ErrInvalid = errors.New("theorems: invalid argument")

// Guarantee is (ε, δ)-differential privacy: for all neighbouring datasets D, D′
// and every set of outcomes S,
//
//	Pr[M(D) ∈ S] ≤ exp(Epsilon) · Pr[M(D′) ∈ S] + Delta.
//
// Which datasets are neighbours is the caller's; where a theorem needs a certain
// relation, its function says so.
type Guarantee struct {
	Epsilon float64 // in nats, at least 0; +Inf is no guarantee at all
	Delta   float64 // in [0, 1]; 1 is no guarantee at all
}

// validate reports whether g is a guarantee.
func (g Guarantee) validate() error { return g.validateAs("") }

// validateAs is validate for one of several: which says so in front of the names.
func (g Guarantee) validateAs(which string) error {
	if !(g.Epsilon >= 0) {
		return fmt.Errorf("%w: %sepsilon is %v, must be at least 0", ErrInvalid, which, g.Epsilon)
	}
	return validateDelta(which+"delta", g.Delta)
}

// repeated is Basic of k copies of g.
func repeated(g Guarantee, k int) Guarantee {
	return Guarantee{
		Epsilon: numeric.MulUp(float64(k), g.Epsilon),
		Delta:   math.Min(1, numeric.MulUp(float64(k), g.Delta)),
	}
}

// validateCopies checks the arguments of k-fold composition.
func validateCopies(g Guarantee, k int) error {
	if k < 0 || k > maxCount {
		return fmt.Errorf("%w: k is %d, must be from 0 to %d", ErrInvalid, k, maxCount)
	}
	return g.validate()
}

// maxCount bounds numbers of mechanisms, records and draws: far above any use, and
// low enough that they and their doubles are exact in float64.
const maxCount = 1 << 40

// validateDelta checks a probability that stands for a delta.
func validateDelta(name string, delta float64) error {
	if !(delta >= 0 && delta <= 1) {
		return fmt.Errorf("%w: %s is %v, must be in [0, 1]", ErrInvalid, name, delta)
	}
	return nil
}
