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
	basic := repeated(g, k)
	// The refined formula is one of the two in closedForm, and never above Dwork, Rothblum and
	// Vadhan's.
	if e := sumsOf(group{g.Epsilon, k}).closedForm(slack); e < basic.Epsilon {
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
