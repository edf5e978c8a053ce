package votes

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Aggregation says how every question of a run is answered.
type Aggregation struct {
	Max   Mechanism  // GaussianMax or LaplaceMax
	Check *Threshold // the check that a question has to pass before it is answered; nil for none
}

// Question is one question that was asked. All of it but Answered is PRIVATE.
type Question struct {
	Votes    []int // for each class, how many teachers vote for it
	Answered bool  // whether it passed the check; without a check every question is answered
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

// plus returns sum plus the divergence of order alpha of q's check and answer.
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

// Account adds up the divergences of questions as they are asked, at many orders. Its sums are NOT
// PRIVATE.
type Account struct {
	aggregation Aggregation
	orders      []float64
	sums        []float64
	questions   int
}

// NewAccount returns an account with no question yet, at orders from 1.1 to 2000. More orders would
// lower ε by less than a hundredth.
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

// AddLost adds the divergences, for the worst votes, of so many checks and answers whose results
// are lost, as after a kill.
func (t *Account) AddLost(checks, answers int) {
	for i, alpha := range t.orders {
		t.sums[i] += t.aggregation.Lost(checks, answers, alpha)
	}
}

// Lost returns the divergence of order alpha of so many checks and answers, for the worst votes.
func (a Aggregation) Lost(checks, answers int, alpha float64) float64 {
	sum := float64(answers) * a.Max.Independent(alpha)
	if a.Check != nil {
		sum += float64(checks) * a.Check.Independent(alpha)
	}
	return sum
}

// Epsilon returns the least ε at delta over the account's orders, and the order at which it was
// found. Both are NOT PRIVATE.
func (t *Account) Epsilon(delta float64) (epsilon, order float64) {
	epsilon, order = math.Inf(1), math.NaN()
	for i, alpha := range t.orders {
		if e := Epsilon(roundedUp(t.sums[i], t.questions), alpha, delta); e < epsilon {
			epsilon, order = e, alpha
		}
	}
	return epsilon, order
}

// Epsilon returns the ε ≥ 0 at delta that follows from a Rényi divergence of order alpha: Canonne,
// Kamath, Steinke 2020 (arXiv:2004.00010v4, Proposition 12).
func Epsilon(divergence, alpha, delta float64) float64 {
	return max(0, divergence+math.Log1p(-1/alpha)-(numeric.Log(delta)+math.Log(alpha))/(alpha-1))
}
