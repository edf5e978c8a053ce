package accountant

import (
	"errors"
	"fmt"
	"math"
)

// ProfilePoint is one statement of the privacy profile: what was released is (Epsilon,
// Delta)-private.
type ProfilePoint struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Tradeoff bounds from below the errors of somebody who looks at everything that was released and
// wants to know whether one record was there.
//
// He is wrong in two ways: he takes data without the record for data with it, with probability α
// (type I, a false alarm), or misses a record that was there, with probability β (type II). The
// trade-off function f says how small β can be at each α (Wasserman, Zhou 2010, arXiv:0811.2501;
// Dong, Roth, Su 2019, arXiv:1905.02383). Tradeoff bounds f by the privacy profile δ(ε) that an
// accountant knows: by all (ε, δ) together, which say as much as f does (the duality in section 2
// of Dong, Roth, Su):
//
//	f(α) = sup over ε ≥ 0 of max(0, 1 - δ(ε) - e^ε·α, e^-ε·(1 - δ(ε) - α)).
//
// Accountants answer for both directions, with and without the record, at once. So the curve takes
// the worse direction at each point, is convex, and is symmetric: f(f(α)) = α where f is above 0.
//
// The zero value says nothing: f = 0.
type Tradeoff struct{ points []ProfilePoint }

const (
	// curvePoints is how many points of the profile a curve rests on. Fewer make it lower, so
	// weaker, and never wrong: the supremum is then over fewer ε.
	curvePoints = 128
)

// leastDeltas are the δ at which a profile may end: the first with a certified answer is taken.
// Leaving out smaller δ moves f by less than that one.
var leastDeltas = []float64{1e-10, 1e-8, 1e-6}

// TradeoffOf returns the trade-off curve of all releases of l together, from what a answers. Values
// of ε at which a has no certified answer are left out. The error matches ErrUncertified if a has
// none at any of leastDeltas.
func TradeoffOf(a Accountant, l *Ledger) (Tradeoff, error) {
	g, delta, err := lastPoint(a, l)
	if err != nil {
		return Tradeoff{}, err
	}
	if math.IsInf(g.Epsilon, 1) {
		return Tradeoff{}, nil
	}
	points := []ProfilePoint{{g.Epsilon, delta}}
	for i := range curvePoints {
		epsilon := g.Epsilon * float64(i) / curvePoints
		at, err := a.Delta(l, epsilon)
		switch {
		case errors.Is(err, ErrUncertified):
			continue
		case err != nil:
			return Tradeoff{}, err
		}
		points = append(points, ProfilePoint{epsilon, at.Delta})
		if at.Delta == 0 {
			break // larger ε say less
		}
	}
	return NewTradeoff(points)
}

// lastPoint returns ε at the first of leastDeltas for which a has a certified answer, and that δ.
func lastPoint(a Accountant, l *Ledger) (g Guarantee, delta float64, err error) {
	for _, delta = range leastDeltas {
		if g, err = a.Guarantee(l, delta); !errors.Is(err, ErrUncertified) {
			break
		}
	}
	return g, delta, err
}

// NewTradeoff returns the curve that follows from some points of a profile, in any order. The error
// for a number that is NaN or below 0 matches [ErrInvalid].
func NewTradeoff(points []ProfilePoint) (Tradeoff, error) {
	for _, p := range points {
		if !(p.Epsilon >= 0 && p.Delta >= 0) {
			return Tradeoff{}, fmt.Errorf("%w: a point of the profile is ε = %v, δ = %v, expected numbers of at least 0", ErrInvalid, p.Epsilon, p.Delta)
		}
	}
	return Tradeoff{points}, nil
}

// TypeII returns f(alpha): a lower bound of the probability that a test misses the record, if its
// probability of a false alarm is at most alpha, in [0, 1].
func (c Tradeoff) TypeII(alpha float64) float64 {
	beta := 0.0
	for _, p := range c.points {
		rest := 1 - p.Delta - alpha
		beta = max(beta, math.Exp(-p.Epsilon)*rest, 1-p.Delta-timesOrZero(math.Exp(p.Epsilon), alpha))
	}
	return beta
}

// timesOrZero returns x·y, and 0 if y is 0, also for an infinite x.
func timesOrZero(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x * y
}

// BestGuess bounds from above the probability to be right about whether the record was there, if
// both are equally likely before: half of 1 + δ(0), δ(0) being the distance in total variation.
func (c Tradeoff) BestGuess() float64 {
	// The least α + β of a test lies where the slope of f is -1, the line of ε = 0.
	least := 0.0
	for _, p := range c.points {
		least = max(least, (1-p.Delta)*2/(1+math.Exp(p.Epsilon)))
	}
	return 1 - least/2
}

// Belief is somebody's probability that one record was there, before he sees what was released, and
// the bounds of it afterwards, whatever else he knows.
type Belief struct {
	Prior float64 `json:"prior"`
	Low   float64 `json:"low"` // bounds of the probability afterwards
	High  float64 `json:"high"`
}

// Priors are the probabilities before the release that [Beliefs] answers for.
var Priors = []float64{1e-5, 0.01, 0.1, 0.5}

// exceptions·δ bounds the probability of the results for which a bound of [Beliefs] fails.
const exceptions = 10

// Beliefs bounds the probability of a record's presence after an (epsilon, delta)-private release,
// for each of [Priors]. Each bound may fail for results that have together a probability of at most
// except, which is 0 if delta is 0: with a delta above 0 no bound holds for all results. That is so
// for Low and for High, whether the record was there or not.
//
// Proof. Results multiply the odds by the ratio of their probabilities with and without the record,
// P and Q (Bayes). Let B be those with P(o) > e^ε′·Q(o), ε′ = ε + ln(10/9). As P(B) ≤ e^ε·Q(B) + δ
// ≤ e^(ε-ε′)·P(B) + δ, P(B) is at most δ/(1 - 9/10) = 10·δ, and Q(B) is smaller. The other bound is
// the same with P and Q exchanged. Without a δ, ε′ is ε. Kasiviswanathan, Smith 2014
// (arXiv:0803.3946) prove it for any knowledge of the others.
func Beliefs(epsilon, delta float64) (beliefs []Belief, except float64) {
	factor := math.Exp(epsilon)
	if delta > 0 {
		factor *= exceptions / (exceptions - 1.)
	}
	for _, p := range Priors {
		b := Belief{Prior: p, Low: p / (p + (1-p)*factor), High: 1}
		if !math.IsInf(factor, 1) {
			b.High = p * factor / (p*factor + 1 - p)
		}
		beliefs = append(beliefs, b)
	}
	return beliefs, min(1, exceptions*delta)
}
