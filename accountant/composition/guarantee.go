package composition

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// ErrInvalid is wrapped by every error about an argument: a number outside its
// range, NaN, or parameters for which a theorem says nothing.
var ErrInvalid = errors.New("composition: invalid argument")

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

// validateAll is validate for a list.
func validateAll(gs []Guarantee) error {
	for i, g := range gs {
		if err := g.validateAs(fmt.Sprintf("guarantee %d of %d: ", i+1, len(gs))); err != nil {
			return err
		}
	}
	return nil
}

// Basic returns what a sequence of mechanisms satisfies together: the sum of the
// epsilons and the sum of the deltas, at most 1. The mechanisms may be chosen
// adaptively. No mechanism at all is (0, 0).
//
// Dwork, Kenthapadi, McSherry, Mironov, Naor 2006; Theorem 3.16 and Appendix B of
// Dwork and Roth 2014.
func Basic(gs ...Guarantee) (Guarantee, error) {
	var total Guarantee
	if err := validateAll(gs); err != nil {
		return Guarantee{}, err
	}
	for _, g := range gs {
		total.Epsilon = numeric.AddUp(total.Epsilon, g.Epsilon)
		total.Delta = math.Min(1, numeric.AddUp(total.Delta, g.Delta))
	}
	return total, nil
}

// Parallel returns what mechanisms on disjoint parts of the data satisfy
// together: the largest epsilon and the largest delta. One record must be in at
// most one part, and which part must not depend on the other records; the
// relation is adding or removing one record. (Replacing one record can move it
// from one part to another and touches two: then compose the two worst.)
//
// McSherry 2009, "Privacy Integrated Queries", Theorem 4.
func Parallel(gs ...Guarantee) (Guarantee, error) {
	var worst Guarantee
	if err := validateAll(gs); err != nil {
		return Guarantee{}, err
	}
	for _, g := range gs {
		worst.Epsilon = math.Max(worst.Epsilon, g.Epsilon)
		worst.Delta = math.Max(worst.Delta, g.Delta)
	}
	return worst, nil
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

// validateEpsilon checks an epsilon at which a delta is asked for.
func validateEpsilon(epsilon float64) error {
	if !(epsilon >= 0) {
		return fmt.Errorf("%w: epsilon is %v, must be at least 0", ErrInvalid, epsilon)
	}
	return nil
}
