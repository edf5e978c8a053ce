package composition

import (
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// OptimalHeterogeneous returns the smallest epsilon for which every sequence of
// mechanisms that satisfy gs, chosen adaptively, satisfies (epsilon, delta), or an
// upper bound of it. It is +Inf if delta is below 1 - Π(1-δᵢ).
//
// The theorem (1.5 in Murtagh, Vadhan 2016, arXiv:1507.03113) reduces the question
// to randomized responses with total loss L = Σ ±εᵢ, each sign + with probability
// e^εᵢ/(1+e^εᵢ):
//
//	1 - (1-delta)/Π(1-δᵢ) = E[max(0, 1 - exp(epsilon - L))].
//
// Computing that is #P-hard in general. The answer is exact, to a relative error
// of about 1e-9 in delta and on the private side,
//
//   - if after joining equal εᵢ (and leaving out outcomes of probability below
//     1e-14·delta) the outcomes can be split into two halves of at most 2^20 each:
//     always for up to 40 mechanisms, and for two epsilons thousands of times;
//   - if the εᵢ are multiples of a common unit, to a relative 1e-12.
//
// Otherwise losses are spread over a grid of step h, which can only add to the
// answer: for d distinct εᵢ it is at most d·h above the exact one, with d·h some
// 1e-5 to 1e-4 of the width of the loss distribution for d ≤ 100; what is observed
// is far less, since spreading keeps the mean of e^-L. The answer is in no case above
// ClosedForm.
func OptimalHeterogeneous(gs []Guarantee, delta float64) (epsilon float64, err error) {
	q, err := newQuestion(gs, delta)
	if err != nil {
		return 0, err
	}
	if epsilon, done := q.trivial(); done {
		return epsilon, nil
	}
	if len(q.groups) == 1 { // all equal
		one := q.groups[0]
		epsilon, err = Optimal(Guarantee{Epsilon: one.epsilon}, one.count, q.pure)
		return math.Min(epsilon, q.sums.closedForm(q.pure)), err
	}
	l := q.losses()
	most := numeric.Up(q.sums.epsilons, 4)
	epsilon = numeric.Up(leastEpsilon(l, q.pure, most), 8)
	// Sums of losses round: each of them moves by a few ulp of the largest.
	epsilon += float64(len(q.groups)+8) * numeric.Ulp * l.largest()
	return math.Min(epsilon, q.sums.closedForm(q.pure)), nil
}

// ClosedForm returns an epsilon such that every sequence of mechanisms that
// satisfy gs satisfies (epsilon, delta), by the closed formula of Theorem 3.5 of
// Kairouz, Oh, Viswanath 2015 (arXiv:1311.0776): with 1-delta = (1-slack) Π(1-δᵢ),
// the smallest of
//
//	Σε,
//	Σ ε(e^ε-1)/(e^ε+1) + √(2 Σε² ln(e + √(Σε²)/slack)),
//	Σ ε(e^ε-1)/(e^ε+1) + √(2 Σε² ln(1/slack)).
//
// It is +Inf if delta is below 1 - Π(1-δᵢ).
func ClosedForm(gs []Guarantee, delta float64) (epsilon float64, err error) {
	q, err := newQuestion(gs, delta)
	if err != nil {
		return 0, err
	}
	if epsilon, done := q.trivial(); done {
		return epsilon, nil
	}
	return q.sums.closedForm(q.pure), nil
}

// group is a number of mechanisms with one epsilon.
type group struct {
	epsilon float64
	count   int
}

// question is what composing guarantees comes to.
type question struct {
	groups []group // of the epsilons above 0, ascending
	sums   sums
	deltas float64 // Σ δ
	delta  float64 // in total
	pure   float64 // what of delta the epsilons may use
}

func newQuestion(gs []Guarantee, delta float64) (*question, error) {
	if err := validateDelta("delta", delta); err != nil {
		return nil, err
	}
	if err := validateAll(gs); err != nil {
		return nil, err
	}
	q := &question{delta: delta}
	keep, counts := 0.0, map[float64]int{}
	for _, g := range gs {
		keep += math.Log1p(-g.Delta)
		q.deltas = numeric.AddUp(q.deltas, g.Delta)
		if g.Epsilon > 0 {
			counts[g.Epsilon]++
		}
	}
	for epsilon, count := range counts {
		q.groups = append(q.groups, group{epsilon, count})
	}
	slices.SortFunc(q.groups, func(a, b group) int {
		if a.epsilon < b.epsilon {
			return -1
		}
		return 1
	})
	q.sums.terms = len(q.groups)
	for _, g := range q.groups {
		n := float64(g.count)
		q.sums.drift += n * rrMean(g.epsilon)
		q.sums.squares += n * g.epsilon * g.epsilon
		q.sums.epsilons = numeric.AddUp(q.sums.epsilons, numeric.MulUp(n, g.epsilon))
	}
	// The rounding of keep and of the masses, both relative to delta.
	q.pure = beforeDeltas(keep, delta)
	if keep != 0 {
		q.pure -= float64(len(gs)) * numeric.Ulp * -keep
	}
	return q, nil
}

// trivial answers the questions that need no computing.
func (q *question) trivial() (epsilon float64, done bool) {
	switch {
	case q.delta == 1 || len(q.groups) == 0 && q.pure >= 0:
		return 0, true
	case q.pure < tiniest && q.delta >= q.deltas: // nothing is left, or masses would underflow
		return q.sums.epsilons, true
	case q.pure < tiniest || math.IsInf(q.sums.epsilons, 1):
		return math.Inf(1), true
	}
	return 0, false
}
