package pair

import (
	"math"
	"slices"
)

// Discrete is a pair of distributions over finitely many outcomes: P[i] and Q[i] are
// the probabilities of outcome i. Each side adds up to 1.
type Discrete struct{ P, Q []float64 }

var _ Pair = Discrete{}

// RandomizedResponse is the pair of k-ary randomized response when one record is
// replaced: with probability noise the answer is uniform among all k, else it is the
// truth. It serves both directions. The k-2 answers that are equally likely under both
// datasets are one outcome.
func RandomizedResponse(k int, noise float64) Discrete {
	other := noise / float64(k)
	truth := 1 - noise + other
	d := Discrete{P: []float64{truth, other}, Q: []float64{other, truth}}
	if k > 2 {
		rest := float64(k-2) * other
		d.P = append(d.P, rest)
		d.Q = append(d.Q, rest)
	}
	return d
}

// ApproxDP is the pair that dominates every (ε, δ)-private mechanism (Kairouz, Oh, Viswanath 2015,
// arXiv:1311.0776, Theorem 3.2): the loss is +Inf with probability δ, and else the loss of binary
// randomized response with odds e^ε. It serves both directions.
func ApproxDP(epsilon, delta float64) Discrete {
	odds := math.Exp(-epsilon)
	likely := (1 - delta) / (1 + odds)
	unlikely := likely * odds
	return Discrete{
		P: []float64{delta, likely, unlikely, 0},
		Q: []float64{0, unlikely, likely, delta},
	}
}

// Reversed is the pair (Q, P).
func (d Discrete) Reversed() Discrete { return Discrete{P: slices.Clone(d.Q), Q: slices.Clone(d.P)} }

// loss returns the loss of outcome i, NaN where both sides have no chance.
func (d Discrete) loss(i int) float64 { return math.Log(d.P[i] / d.Q[i]) }

// Support returns the least and greatest finite loss, or ∓Inf where none is finite.
func (d Discrete) Support() (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for i := range d.P {
		if l := d.loss(i); !math.IsInf(l, 0) && !math.IsNaN(l) {
			least, greatest = min(least, l), max(greatest, l)
		}
	}
	if least > greatest {
		return math.Inf(-1), math.Inf(1)
	}
	return least, greatest
}

// Infinite returns the chance under P of outcomes that are impossible under Q.
func (d Discrete) Infinite() float64 {
	sum := 0.0
	for i, q := range d.Q {
		if q == 0 {
			sum += d.P[i]
		}
	}
	return sum
}

// Above returns P[L > l] and Q[L > l].
func (d Discrete) Above(l float64) (p, q float64) {
	for i := range d.P {
		if loss := d.loss(i); loss > l || math.IsInf(loss, 1) {
			p += d.P[i]
			q += d.Q[i]
		}
	}
	return p, q
}

// Below returns P[L ≤ l] and Q[L ≤ l].
func (d Discrete) Below(l float64) (p, q float64) {
	for i := range d.P {
		if loss := d.loss(i); loss <= l && !math.IsInf(loss, 1) {
			p += d.P[i]
			q += d.Q[i]
		}
	}
	return p, q
}
