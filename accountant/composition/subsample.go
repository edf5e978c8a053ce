package composition

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// PoissonSampled returns what a mechanism satisfies on a sample into which every
// record enters independently with probability q, if it satisfies g on the sample:
//
//	log(1 + q(e^ε - 1)),  qδ.
//
// Relation: adding or removing one record, for g and for the result. Theorem 8 of
// Balle, Barthe, Gaboardi 2018 (arXiv:1807.01647v2); tight for guarantees alone.
func PoissonSampled(g Guarantee, q float64) (Guarantee, error) {
	if !(q >= 0 && q <= 1) {
		return Guarantee{}, fmt.Errorf("%w: sampling probability is %v, must be in [0, 1]", ErrInvalid, q)
	}
	return sampled(g, q)
}

// SampledWithoutReplacement returns what a mechanism satisfies on a uniformly
// random set of batch of the n records, if it satisfies g on the set: with η =
// batch/n,
//
//	log(1 + η(e^ε - 1)),  ηδ.
//
// Relation: replacing one record, for g and for the result; n and batch are
// public. Theorem 9 of Balle, Barthe, Gaboardi 2018 (arXiv:1807.01647v2).
func SampledWithoutReplacement(g Guarantee, n, batch int) (Guarantee, error) {
	if n < 1 || n > maxCount || batch < 0 || batch > n {
		return Guarantee{}, fmt.Errorf("%w: batch of %d from %d records, want 0 ≤ batch ≤ n, 1 ≤ n ≤ %d", ErrInvalid, batch, n, maxCount)
	}
	return sampled(g, math.Min(1, numeric.Up(float64(batch)/float64(n), 1)))
}

// sampled amplifies g by the probability eta that the record in question matters.
func sampled(g Guarantee, eta float64) (Guarantee, error) {
	if err := g.validate(); err != nil {
		return Guarantee{}, err
	}
	if eta == 1 {
		return g, nil
	}
	return Guarantee{sampledEpsilon(g.Epsilon, eta), numeric.MulUp(eta, g.Delta)}, nil
}

// sampledEpsilon is log(1 + eta(e^ε - 1)), rounded up and at most ε.
func sampledEpsilon(epsilon, eta float64) float64 {
	switch {
	case eta == 0 || epsilon == 0:
		return 0
	case epsilon > 700: // e^ε overflows
		return math.Min(epsilon, numeric.Up(epsilon+math.Log(eta+(1-eta)*math.Exp(-epsilon)), 8))
	}
	return math.Min(epsilon, numeric.Up(math.Log1p(eta*math.Expm1(epsilon)), 8))
}

// SampledWithReplacement returns the smallest epsilon of a mechanism on a list of
// draws records, each drawn uniformly from all n, if the mechanism satisfies g on
// the list: with η = 1 - (1-1/n)^draws, at any e ≥ 0,
//
//	log(1 + η(e^e - 1)),  Σ_{k=1}^{draws} C(draws, k) n^{-k} (1-1/n)^{draws-k} δₖ(e)
//
// where δₖ(e) is what g says about k records, here the profile of Group(g, k)
// (randomized response is the worst case, Kairouz, Oh, Viswanath 2015): e is chosen
// so that the second is delta. The answer is +Inf where no e is enough.
//
// Relation: replacing one record, for g and for the result; n and draws are
// public. Theorem 10 of Balle, Barthe, Gaboardi 2018 (arXiv:1807.01647v2).
func SampledWithReplacement(g Guarantee, n, draws int, delta float64) (epsilon float64, err error) {
	if n < 1 || n > maxCount || draws < 0 || draws > maxCount {
		return 0, fmt.Errorf("%w: %d draws from %d records, want at least 0 and 1, at most %d", ErrInvalid, draws, n, maxCount)
	}
	if err := g.validate(); err != nil {
		return 0, err
	}
	if err := validateDelta("delta", delta); err != nil {
		return 0, err
	}
	eta := math.Min(1, numeric.Up(-math.Expm1(float64(draws)*logMiss(n)), 4))
	switch {
	case delta == 1 || draws == 0 || g == Guarantee{}:
		return 0, nil
	case math.IsInf(g.Epsilon, 1) || delta < tiniest && g.Delta > 0:
		return math.Inf(1), nil
	case delta < tiniest: // the record may be every draw
		return sampledEpsilon(repeated(g, draws).Epsilon, eta), nil
	case draws/n > maxMeanDraws:
		return 0, fmt.Errorf("%w: %d draws from %d records, want at most %d for each", ErrInvalid, draws, n, maxMeanDraws)
	}
	w := newWithReplacement(g, n, draws, delta)
	most := numeric.MulUp(float64(len(w.masses)), g.Epsilon)
	if least, _ := w.at(most); least > delta {
		return math.Inf(1), nil
	}
	return sampledEpsilon(leastEpsilon(w, delta, most), eta), nil
}

// tiniest is a delta below which masses underflow: it is taken for 0.
const tiniest = 1e-280

// maxMeanDraws bounds draws/n, and with it the counts that are looked at.
const maxMeanDraws = 1 << 20

// logMiss is log(1 - 1/n), the log probability that one draw misses a record.
func logMiss(n int) float64 { return math.Log1p(-1 / float64(n)) }

// withReplacement is the profile of Theorem 10 before the outer logarithm. How
// often the record is drawn is binomial; counts of probability lost in all, a
// 1e-13th of the delta asked for, are taken as if they told everything.
type withReplacement struct {
	g      Guarantee
	lost   float64
	masses []float64 // of the counts 1, 2, …
	deltas []float64 // of Group(g, k) for these counts
}

func newWithReplacement(g Guarantee, n, draws int, delta float64) *withReplacement {
	count := numeric.Binomial{N: draws, P: 1 / float64(n), Q: 1 - 1/float64(n)}
	w := &withReplacement{g: g, lost: delta * 1e-13}
	_, hi := count.Window(w.lost)
	for k := 1; k <= hi; k++ {
		w.masses = append(w.masses, math.Exp(count.LogMass(k))*(1+count.RelativeError()))
		_, groupDelta := numeric.Group(g.Epsilon, g.Delta, k)
		w.deltas = append(w.deltas, groupDelta)
	}
	return w
}

func (w *withReplacement) at(epsilon float64) (delta, rate float64) {
	delta = w.lost
	for i, mass := range w.masses {
		d, r := responseDelta(Guarantee{numeric.MulUp(float64(i+1), w.g.Epsilon), w.deltas[i]}, epsilon)
		delta += mass * d
		rate += mass * r
	}
	return math.Min(1, numeric.Up(delta, 64)), rate
}

// responseDelta is the largest delta at epsilon that g allows, that of randomized
// response, and its rate: δ + (1-δ) max(0, 1 - e^{epsilon-ε}) e^ε/(1+e^ε).
func responseDelta(g Guarantee, epsilon float64) (delta, rate float64) {
	if epsilon >= g.Epsilon {
		return g.Delta, 0
	}
	truth := (1 - g.Delta) / (1 + math.Exp(-g.Epsilon))
	return g.Delta - truth*math.Expm1(epsilon-g.Epsilon), truth * math.Exp(epsilon-g.Epsilon)
}
