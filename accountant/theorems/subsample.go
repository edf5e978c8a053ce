package theorems

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

// tiniest is a delta below which masses underflow: it is taken for 0.
const tiniest = 1e-280
