package accountant

import (
	"math"
	"slices"
)

// conversion holds what the conversion from Rényi divergence to epsilon needs of
// each order. Canonne, Kamath, Steinke 2020, arXiv:2004.00010v4, Proposition 12:
//
//	ε = D_α + log(1 - 1/α) - log(δ α)/(α - 1)
//
// The simpler ε = D_α + log(1/δ)/(α - 1) of Mironov 2017 is larger for every α.
type conversion struct {
	fixed     []float64 // log(1-1/α) - log(α)/(α-1)
	perLogOne []float64 // 1/(α-1), the factor of log(1/δ)
}

func newConversion(orders []float64) conversion {
	var c conversion
	for _, alpha := range orders {
		c.fixed = append(c.fixed, math.Log1p(-1/alpha)-math.Log(alpha)/(alpha-1))
		c.perLogOne = append(c.perLogOne, 1/(alpha-1))
	}
	return c
}

// terms returns, for each order, what is added to the divergence to get epsilon.
func (c conversion) terms(delta float64) []float64 {
	terms := slices.Clone(c.fixed)
	logOne := -math.Log(delta)
	for i, x := range c.perLogOne {
		terms[i] += x * logOne
	}
	return terms
}

// orderSearch finds the least divergence(i) + terms[i] over all i with as few
// divergences as it can, by branch and bound: the divergence of an order is never
// below that of a smaller order (van Erven, Harremoës 2014, Theorem 3), so an
// interval whose best term, added to a divergence from its left, does not beat the
// best epsilon so far holds nothing better. The answer is that of the full
// search; of the default orders it takes some 30 of 1258.
type orderSearch struct {
	divergence func(i int) float64
	terms      []float64

	epsilon  float64 // least so far
	best     int     // its index, or -1
	infinite bool    // an order came out as +Inf
}

func newOrderSearch(divergence func(int) float64, terms []float64) *orderSearch {
	return &orderSearch{divergence: divergence, terms: terms, epsilon: math.Inf(1), best: -1}
}

// floorSlack makes the bound hold for computed divergences as well, which follow
// the theorem up to rounding (see relativeError).
const floorSlack = 1 - 1e-8

// run searches the orders lo ≤ i < hi, whose divergence is at least floor. It fails
// closed: an order that came out NaN or negative is not used.
func (s *orderSearch) run(lo, hi int, floor float64) {
	if lo >= hi || floor*floorSlack+slices.Min(s.terms[lo:hi]) >= s.epsilon {
		return
	}
	mid := (lo + hi) / 2
	d := s.divergence(mid)
	if math.IsInf(d, 1) {
		s.infinite = true
	}
	if !(d >= 0) || math.IsInf(d, 1) { // not used, and nothing concluded from it
		s.run(lo, mid, floor)
		s.run(mid+1, hi, floor)
		return
	}
	if e := d + s.terms[mid]; e < s.epsilon {
		s.epsilon, s.best = e, mid
	}
	// At the best order the two parts of epsilon are of similar size; the more
	// promising half goes first, to prune more of the other.
	if d > s.terms[mid] {
		s.run(lo, mid, floor)
		s.run(mid+1, hi, d)
	} else {
		s.run(mid+1, hi, d)
		s.run(lo, mid, floor)
	}
}
