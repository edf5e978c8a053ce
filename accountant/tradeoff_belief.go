package accountant

import "math"

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
