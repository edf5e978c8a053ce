package votes

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Aggregation says how every question of a run is answered.
type Aggregation struct {
	Max   Mechanism  // GaussianMax or LaplaceMax
	Check *Threshold // what a question has to pass before it is answered; nil: all are answered
}

// Question is one question that was asked. All of it but Answered is PRIVATE.
type Question struct {
	Votes    []int
	Answered bool // with a check: whether it passed
}

// Divergence bounds the Rényi divergence of order alpha of everything that the questions released,
// for these votes. It is NOT PRIVATE.
func (a Aggregation) Divergence(questions []Question, alpha float64) float64 {
	sum := 0.0
	for _, q := range questions {
		sum = a.plus(sum, q, alpha)
	}
	return roundedUp(sum, len(questions))
}

// plus adds the divergence of a question to a sum.
func (a Aggregation) plus(sum float64, q Question, alpha float64) float64 {
	if a.Check != nil {
		sum += a.Check.Divergence(q.Votes, alpha)
	}
	if a.answered(q) {
		sum += a.Max.Divergence(q.Votes, alpha)
	}
	return sum
}

func (a Aggregation) answered(q Question) bool { return a.Check == nil || q.Answered }

// roundedUp returns sum raised by more than rounding can have taken from it in so many questions.
func roundedUp(sum float64, questions int) float64 { return sum*(1+1e-12) + 1e-14*float64(questions) }

// Account adds up what questions cost as they are asked, at all orders. What it holds is NOT
// PRIVATE.
type Account struct {
	aggregation Aggregation
	orders      []float64
	sums        []float64
	questions   int
}

// NewAccount returns an account with no question yet. A finer list of orders would lower ε by less
// than a hundredth.
func (a Aggregation) NewAccount() *Account {
	t := &Account{aggregation: a}
	for x := 0.1; x < 2000; x *= 1.05 {
		t.orders = append(t.orders, 1+x)
	}
	t.sums = make([]float64, len(t.orders))
	return t
}

// Add adds the divergences of a question.
func (t *Account) Add(q Question) {
	t.questions++
	for i, alpha := range t.orders {
		t.sums[i] = t.aggregation.plus(t.sums[i], q, alpha)
	}
}

// AddLost adds the cost, for the worst votes, of checks and answers that were paid for and whose
// results are lost, as after a kill.
func (t *Account) AddLost(checks, answers int) {
	for i, alpha := range t.orders {
		t.sums[i] += t.aggregation.Lost(checks, answers, alpha)
	}
}

// Lost returns the cost of so many checks and answers for the worst votes.
func (a Aggregation) Lost(checks, answers int, alpha float64) float64 {
	sum := float64(answers) * a.Max.Independent(alpha)
	if a.Check != nil {
		sum += float64(checks) * a.Check.Independent(alpha)
	}
	return sum
}

// Epsilon returns the least ε at delta over the orders, and the order at which it was found. Both
// are NOT PRIVATE.
func (t *Account) Epsilon(delta float64) (epsilon, order float64) {
	epsilon, order = math.Inf(1), math.NaN()
	for i, alpha := range t.orders {
		if e := Epsilon(roundedUp(t.sums[i], t.questions), alpha, delta); e < epsilon {
			epsilon, order = e, alpha
		}
	}
	return epsilon, order
}

// Epsilon converts a Rényi divergence of order alpha: Canonne, Kamath, Steinke 2020
// (arXiv:2004.00010v4, Proposition 12), at least 0.
func Epsilon(divergence, alpha, delta float64) float64 {
	return max(0, divergence+math.Log1p(-1/alpha)-(numeric.Log(delta)+math.Log(alpha))/(alpha-1))
}
