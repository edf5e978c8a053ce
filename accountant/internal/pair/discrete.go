package pair

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Discrete is a pair of distributions over finitely many outcomes, of which the i-th has the
// probabilities p[i] and q[i]. Each side adds up to 1.
func Discrete(p, q []float64) *Ladder {
	var steps []step
	var infinite, impossible float64
	for i := range p {
		switch {
		case q[i] == 0:
			infinite += p[i]
		case p[i] == 0:
			impossible += q[i]
		default:
			loss := math.Log(p[i] / q[i])
			if ratio := p[i] / q[i]; ratio < 0x1p-1000 || ratio > 0x1p1000 {
				loss = numeric.Log(p[i]) - numeric.Log(q[i])
			}
			steps = append(steps, step{atom{p[i], loss}, q[i]})
		}
	}
	return ladderOf(steps, infinite, impossible)
}

// RandomizedResponse is the pair of k-ary randomized response when one record is
// replaced: with probability noise the answer is uniform among all k, else it is the
// truth. It serves both directions. The k-2 answers that are equally likely under both
// datasets are one outcome.
func RandomizedResponse(k int, noise float64) *Ladder {
	other := noise / float64(k)
	truth := 1 - noise + other
	rest := float64(k-2) * other
	return Discrete([]float64{truth, other, rest}, []float64{other, truth, rest})
}

// ApproxDP is the pair that dominates every (ε, δ)-private mechanism (Kairouz, Oh, Viswanath 2015,
// arXiv:1311.0776, Theorem 3.2): the loss is +Inf with probability δ, and else the loss of binary
// randomized response with odds e^ε. It serves both directions.
func ApproxDP(epsilon, delta float64) *Ladder {
	odds := math.Exp(-epsilon)
	likely := (1 - delta) / (1 + odds)
	unlikely := likely * odds
	return Discrete([]float64{delta, likely, unlikely, 0}, []float64{0, unlikely, likely, delta})
}
