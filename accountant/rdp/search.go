package rdp

import (
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// conversion holds, for each order, the constants of the conversion from Rényi divergence to
// (ε, δ) of Canonne, Kamath, Steinke 2020, arXiv:2004.00010v4, Proposition 12:
//
//	ε = D_α + log(1 - 1/α) - log(δ α)/(α - 1)
//	log δ = (α - 1) (D_α - ε + log(1 - 1/α)) - log α
//
// The simpler ε = D_α + log(1/δ)/(α - 1) of Mironov 2017 is larger for every α.
type conversion struct {
	slopes []float64 // α-1, the factor of D_α - ε
	fixed  []float64 // (α-1) log(1-1/α) - log(α)
}

func newConversion(orders []float64) conversion {
	var c conversion
	for _, alpha := range orders {
		c.slopes = append(c.slopes, alpha-1)
		c.fixed = append(c.fixed, (alpha-1)*math.Log1p(-1/alpha)-math.Log(alpha))
	}
	return c
}

// epsilonSearch returns an orderSearch for the least ε at delta, without divergences and not run.
func (c conversion) epsilonSearch(delta float64) *orderSearch {
	s := &orderSearch{slopes: slices.Repeat([]float64{1}, len(c.slopes)), terms: c.terms(delta), value: math.Inf(1), best: -1}
	s.goesLeft = func(mid int, d float64) bool { return d > s.terms[mid] }
	return s
}

// terms returns the number to add to the divergence of each order to get ε at delta.
func (c conversion) terms(delta float64) []float64 {
	terms := slices.Clone(c.fixed)
	logDelta := numeric.Log(delta)
	for i, slope := range c.slopes {
		terms[i] = (terms[i] - logDelta) / slope
	}
	return terms
}

// deltaSearch returns an orderSearch for the least log δ at epsilon, without divergences and not
// run. Its value begins at 0: an order whose δ is 1 or more is never the best.
func (c conversion) deltaSearch(epsilon float64) *orderSearch {
	terms := slices.Clone(c.fixed)
	for i, slope := range c.slopes {
		terms[i] -= slope * epsilon
	}
	goesLeft := func(_ int, d float64) bool { return d > epsilon/2 }
	return &orderSearch{slopes: c.slopes, terms: terms, goesLeft: goesLeft, best: -1}
}

// orderSearch finds the least slope × divergence(i) + terms[i] over all i with as few divergences
// as it can, by branch and bound: the divergence of an order is never below that of a smaller order
// (van Erven, Harremoës 2014, Theorem 3), so an interval whose best term, added to a divergence
// from its left, does not beat the best value so far holds nothing better. The answer equals the
// full search's; of the default orders it takes some 30 of 1258.
type orderSearch struct {
	divergence func(i int) float64
	slopes     []float64
	terms      []float64

	// goesLeft reports whether to search the orders below mid first, given the divergence d at mid.
	// The half searched first prunes the other. At the best order the two parts of ε are of similar
	// size; in a search for δ, with a divergence in proportion to α, D_α is half of ε there.
	goesLeft func(mid int, d float64) bool

	value    float64 // least so far
	best     int     // index of the order that gave value, -1 if none did
	used     bool    // the divergence of some order was finite and at least 0
	infinite bool    // the divergence of some order was +Inf
	free     bool    // the ledger costs nothing: no search was needed
}

// floorSlack makes the bound hold for computed divergences as well, which follow
// the theorem up to rounding (see relativeError).
const floorSlack = 1 - 1e-8

// run searches the orders lo ≤ i < hi, whose divergence is at least floor. It fails
// closed: an order that came out NaN or negative is not used.
func (s *orderSearch) run(lo, hi int, floor float64) {
	if lo >= hi || s.bound(lo, hi, floor*floorSlack) >= s.value {
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
	s.used = true
	if value := s.slopes[mid]*d + s.terms[mid]; value < s.value {
		s.value, s.best = value, mid
	}
	if s.goesLeft(mid, d) {
		s.run(lo, mid, floor)
		s.run(mid+1, hi, d)
	} else {
		s.run(mid+1, hi, d)
		s.run(lo, mid, floor)
	}
}

// bound returns a lower bound of the values of orders lo ≤ i < hi with divergences from floor on.
func (s *orderSearch) bound(lo, hi int, floor float64) float64 {
	least := math.Inf(1)
	for i := lo; i < hi; i++ {
		least = min(least, s.slopes[i]*floor+s.terms[i])
	}
	return least
}
