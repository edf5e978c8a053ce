package theorems

import (
	"cmp"
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// guarantee is (ε, δ)-differential privacy. The caller decides which datasets are neighbours.
type guarantee struct {
	Epsilon float64 // in nats, at least 0; +Inf is no guarantee at all
	Delta   float64 // in [0, 1]; 1 is no guarantee at all
}

// counted is count mechanisms, each of which has this guarantee.
type counted struct {
	guarantee
	count int
}

// group is count mechanisms, each of which is (epsilon, 0)-private.
type group struct {
	epsilon float64
	count   int
}

// question holds mechanisms to be composed, summed up, and the δ at which their ε is asked for.
type question struct {
	groups []group // one for each epsilon above 0, ascending
	deltas float64 // Σ δ of all mechanisms
	delta  float64 // of the composition
	pure   float64 // the part of delta that the mechanisms' δ leave; negative if they exceed it

	drift, squares, epsilons float64 // Σ ε tanh(ε/2), Σ ε², Σ ε, the last rounded up
}

// newQuestion returns the question for the epsilon at delta of these guarantees, all valid.
func newQuestion(gs []counted, delta float64) *question {
	q := &question{delta: delta}
	keep, counts := 0.0, map[float64]int{} // keep is log Π(1-δᵢ)
	for _, g := range gs {
		if g.count > 0 {
			keep += float64(g.count) * math.Log1p(-g.Delta)
		}
		q.deltas = numeric.AddUp(q.deltas, numeric.MulUp(float64(g.count), g.Delta))
		if g.Epsilon > 0 {
			counts[g.Epsilon] += g.count
		}
	}
	for epsilon, count := range counts {
		q.groups = append(q.groups, group{epsilon, count})
	}
	slices.SortFunc(q.groups, func(a, b group) int { return cmp.Compare(a.epsilon, b.epsilon) })
	for _, g := range q.groups {
		n := float64(g.count)
		q.drift += n * (g.epsilon * math.Tanh(g.epsilon/2)) // the mean loss of randomized response
		q.squares += n * g.epsilon * g.epsilon
		q.epsilons = numeric.AddUp(q.epsilons, numeric.MulUp(n, g.epsilon))
	}
	if q.pure = delta; keep != 0 {
		keep *= 1 + float64(len(gs)+8)*numeric.Ulp // rounded away from 0
		q.pure = -math.Expm1(math.Log1p(-delta)-keep) - 8*numeric.Ulp*delta
	}
	return q
}

// basic returns the sum of the epsilons, +Inf if the deltas add up to more than delta.
func (q *question) basic() float64 {
	if q.deltas > q.delta {
		return math.Inf(1)
	}
	return q.epsilons
}

// closedForm returns by Theorem 3.5 of Kairouz, Oh, Viswanath 2015, for slack q.pure, the least of
//
//	Σε,  Σε tanh(ε/2) + √(2 Σε² ln(e + √(Σε²)/slack)),  Σε tanh(ε/2) + √(2 Σε² ln(1/slack)).
//
// With ε(e^ε - 1) in the place of ε tanh(ε/2), and log(1/slack), it is the theorem of Dwork,
// Rothblum, Vadhan 2010. It is rounded up by more than the additions can have lost.
func (q *question) closedForm() float64 {
	switch {
	case q.delta == 1 || len(q.groups) == 0 && q.pure >= 0:
		return 0
	case q.pure <= 0 || q.epsilons == 0: // nothing is left, or it was lost in rounding
		return q.basic()
	}
	tail := math.Min(numeric.Log(math.E+math.Sqrt(q.squares)/q.pure), -numeric.Log(q.pure))
	bound := numeric.Up(q.drift+math.Sqrt(2*q.squares*math.Max(0, tail)), 32+2*float64(len(q.groups)))
	if math.IsNaN(bound) { // Σε² overflowed
		return q.epsilons
	}
	return math.Min(q.epsilons, bound)
}

// optimal returns the ε of optimal composition: by the theorem for equal epsilons if there is one
// group, else by that for different epsilons. It is at most closedForm.
func (q *question) optimal() float64 {
	closed := q.closedForm()
	if closed == 0 || math.IsInf(closed, 1) || q.pure < tiniest { // masses would underflow
		return closed
	}
	if len(q.groups) == 1 {
		return math.Min(q.groups[0].optimal(q.pure), closed)
	}
	l := q.losses()
	most := numeric.Up(q.epsilons, 4)
	epsilon := numeric.Up(leastEpsilon(l.at, q.pure, most), 8)
	// Sums of losses round: each of them moves by a few ulp of the largest.
	largest := math.Abs(l.outer[len(l.outer)-1].loss) + math.Abs(l.inner[len(l.inner)-1].loss)
	epsilon += float64(len(q.groups)+8) * numeric.Ulp * largest
	return math.Min(epsilon, closed)
}
