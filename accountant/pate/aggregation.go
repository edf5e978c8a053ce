package pate

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Aggregation is how every question of a run is answered.
type Aggregation struct {
	Max   Mechanism  // GaussianMax or LaplaceMax
	Check *Threshold // that a question has to pass before it is answered; nil answers all
}

// Question is one question that was asked. All of it but Answered is PRIVATE.
type Question struct {
	Votes    []int
	Answered bool // with a check: whether it passed
}

// Divergence bounds that of order alpha of all that the questions released, for these votes. It is NOT
// PRIVATE.
func (a Aggregation) Divergence(questions []Question, alpha float64) float64 {
	sum := 0.0
	for _, q := range questions {
		if a.Check != nil {
			sum += a.Check.Divergence(q.Votes, alpha)
		}
		if a.answered(q) {
			sum += a.Max.Divergence(q.Votes, alpha)
		}
	}
	return roundedUp(sum, len(questions))
}

func (a Aggregation) answered(q Question) bool { return a.Check == nil || q.Answered }

// roundedUp is more than what the logarithms of so many questions can have lost.
func roundedUp(sum float64, questions int) float64 { return sum*(1+1e-12) + 1e-14*float64(questions) }

// Epsilon is the least ε at delta for these votes, and the order at which it was found. It is NOT
// PRIVATE, nor is the order.
func (a Aggregation) Epsilon(questions []Question, delta float64) (epsilon, order float64) {
	return least(delta, func(alpha float64) float64 { return a.Divergence(questions, alpha) })
}

// least is the least ε over the orders, of which there are enough that a finer list gains under a
// hundredth.
func least(delta float64, divergence func(alpha float64) float64) (epsilon, order float64) {
	epsilon, order = math.Inf(1), math.NaN()
	for x := 0.1; x < 2000; x *= 1.05 {
		if e := Epsilon(divergence(1+x), 1+x, delta); e < epsilon {
			epsilon, order = e, 1+x
		}
	}
	return epsilon, order
}

// Epsilon converts a Rényi divergence of order alpha: Canonne, Kamath, Steinke 2020 (arXiv:2004.00010v4,
// Proposition 12), at least 0.
func Epsilon(divergence, alpha, delta float64) float64 {
	return max(0, divergence+math.Log1p(-1/alpha)-(numeric.Log(delta)+math.Log(alpha))/(alpha-1))
}
