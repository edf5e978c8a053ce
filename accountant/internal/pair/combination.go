package pair

import "math"

// Weighted is a pair and the probability that a coin chooses it.
type Weighted struct {
	Weight float64
	Pair   Pair
}

// Combination is the pair of a release that begins with a publicly visible coin,
// which chooses the pair that is used: the disjoint union of the pairs. The weights
// are above 0 and add up to 1. It dominates what one of the pairs, chosen in secret,
// dominates (Ganesh, McKenna, McMahan, Smith, Wu 2025, arXiv:2508.15089, use it for
// truncated Poisson batches).
type Combination []Weighted

var _ Pair = Combination{}

// Above returns P[L > l] and Q[L > l].
func (c Combination) Above(l float64) (p, q float64) {
	return c.sum(func(w Pair) (float64, float64) { return w.Above(l) })
}

// Below returns P[L ≤ l] and Q[L ≤ l].
func (c Combination) Below(l float64) (p, q float64) {
	return c.sum(func(w Pair) (float64, float64) { return w.Below(l) })
}

func (c Combination) sum(tails func(Pair) (p, q float64)) (p, q float64) {
	for _, w := range c {
		wp, wq := tails(w.Pair)
		p += w.Weight * wp
		q += w.Weight * wq
	}
	return p, q
}

// Support returns the least and the greatest finite loss of any of the pairs.
func (c Combination) Support() (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, w := range c {
		l, g := w.Pair.Support()
		least, greatest = min(least, l), max(greatest, g)
	}
	return least, greatest
}

// Infinite returns P[L = +Inf].
func (c Combination) Infinite() float64 {
	sum := 0.0
	for _, w := range c {
		sum += w.Weight * w.Pair.Infinite()
	}
	return sum
}
