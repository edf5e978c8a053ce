package composition

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Advanced returns what k mechanisms, each satisfying g, satisfy together by the
// best closed formula: the smallest epsilon of Basic,
// AdvancedDworkRothblumVadhan, AdvancedRefined and the formula of ClosedForm. slack in
// (0, 1) is the delta paid for an epsilon that grows like √k: the delta returned is
// k·g.Delta + slack, and k·g.Delta where Basic is best. Optimal is never worse.
func Advanced(g Guarantee, k int, slack float64) (Guarantee, error) {
	if err := validateAdvanced(g, k, slack); err != nil {
		return Guarantee{}, err
	}
	n, basic := float64(k), repeated(g, k)
	s := sums{
		drift:    n * rrMean(g.Epsilon),
		squares:  n * g.Epsilon * g.Epsilon,
		epsilons: basic.Epsilon,
		terms:    1,
	}
	// The refined formula is one of the two in s.closedForm, and never above Dwork,
	// Rothblum and Vadhan's.
	if e := s.closedForm(slack); e < basic.Epsilon {
		return Guarantee{e, math.Min(1, numeric.AddUp(basic.Delta, slack))}, nil
	}
	return basic, nil
}

// AdvancedDworkRothblumVadhan returns
//
//	ε√(2k ln(1/slack)) + kε(e^ε - 1),  kδ + slack,
//
// the advanced composition theorem as it is usually quoted: Theorem III.3 of Dwork,
// Rothblum, Vadhan 2010, Theorem 3.20 of Dwork and Roth 2014. It can exceed Basic;
// Advanced never does.
func AdvancedDworkRothblumVadhan(g Guarantee, k int, slack float64) (Guarantee, error) {
	return advanced(g, k, slack, g.Epsilon*math.Expm1(g.Epsilon))
}

// AdvancedRefined returns
//
//	ε√(2k ln(1/slack)) + kε(e^ε - 1)/(e^ε + 1),  kδ + slack.
//
// The second term is the exact mean of the privacy loss of k randomized
// responses, the worst case of all (ε, 0)-private mechanisms, in the place of its
// upper bound: the last of the three terms in Theorem 3.4 of Kairouz, Oh,
// Viswanath 2015 (arXiv:1311.0776).
func AdvancedRefined(g Guarantee, k int, slack float64) (Guarantee, error) {
	return advanced(g, k, slack, rrMean(g.Epsilon))
}

// advanced adds the deviation of a sum of k losses to k times their mean.
func advanced(g Guarantee, k int, slack, mean float64) (Guarantee, error) {
	if err := validateAdvanced(g, k, slack); err != nil {
		return Guarantee{}, err
	}
	if k == 0 || g.Epsilon == 0 {
		return Guarantee{0, repeated(g, k).Delta}, nil
	}
	n := float64(k)
	epsilon := g.Epsilon*math.Sqrt(2*n*-numeric.Log(slack)) + n*mean
	return Guarantee{numeric.Up(epsilon, 16), math.Min(1, numeric.AddUp(repeated(g, k).Delta, slack))}, nil
}

func validateAdvanced(g Guarantee, k int, slack float64) error {
	if !(slack > 0 && slack < 1) {
		return fmt.Errorf("%w: slack is %v, must be in (0, 1)", ErrInvalid, slack)
	}
	return validateCopies(g, k)
}

// rrMean is the mean privacy loss of randomized response, ε(e^ε - 1)/(e^ε + 1).
func rrMean(epsilon float64) float64 { return epsilon * math.Tanh(epsilon/2) }

// sums is what the closed formulas know of a list of epsilons.
type sums struct {
	drift, squares, epsilons float64 // Σ ε tanh(ε/2), Σ ε², Σ ε
	terms                    int     // that were added
}

// closedForm is the epsilon of Theorem 3.5 of Kairouz, Oh, Viswanath 2015:
//
//	min{ Σε, Σε tanh(ε/2) + √(2 Σε² ln(e + √(Σε²)/slack)), Σε tanh(ε/2) + √(2 Σε² ln(1/slack)) }.
//
// It is rounded up by more than the additions can have lost.
func (s sums) closedForm(slack float64) float64 {
	if s.epsilons == 0 || slack == 0 {
		return s.epsilons
	}
	tail := math.Min(numeric.Log(math.E+math.Sqrt(s.squares)/slack), -numeric.Log(slack))
	bound := numeric.Up(s.drift+math.Sqrt(2*s.squares*math.Max(0, tail)), 32+2*float64(s.terms))
	if math.IsNaN(bound) { // Σε² overflowed
		return s.epsilons
	}
	return math.Min(s.epsilons, bound)
}
