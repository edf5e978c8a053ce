package composition

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
	q, err := questionAbout(gs, delta)
	if err != nil {
		return 0, err
	}
	return q.optimal()
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
	q, err := questionAbout(gs, delta)
	if err != nil {
		return 0, err
	}
	return q.closedForm(), nil
}

// questionAbout is newQuestion for guarantees one by one, which it validates.
func questionAbout(gs []Guarantee, delta float64) (*question, error) {
	if err := validateDelta("delta", delta); err != nil {
		return nil, err
	}
	if err := validateAll(gs); err != nil {
		return nil, err
	}
	var all []counted
	for _, g := range gs {
		all = append(all, counted{g, 1})
	}
	return newQuestion(all, delta), nil
}
