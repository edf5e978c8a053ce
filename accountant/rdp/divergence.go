package rdp

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/theorems"
)

// divergence is the Rényi divergence D_α in nats of one event as a function of α: the
// largest over all pairs of neighbours under one relation, in both directions, or an
// upper bound of it. NaN means that it cannot be computed at that order.
type divergence func(alpha float64) float64

// above returns the divergence at alpha, rounded up by relativeError, and above 0.
func (d divergence) above(alpha float64) float64 {
	x := d(alpha) * (1 + relativeError)
	if x == 0 { // below the range of float64, but not free
		return math.SmallestNonzeroFloat64
	}
	return x
}

// orElse returns the divergence that is d where d can be computed, else bound: for a sample, the
// divergence of the release on everything. The Rényi divergence is quasi-convex (van Erven,
// Harremoës 2014, Theorem 13), so a mixture over samples is not above the worst of them. The
// bound is used for tiny σ, where epsilon is in the thousands.
func (d divergence) orElse(bound divergence) divergence {
	return func(alpha float64) float64 {
		if x := d(alpha); x >= 0 {
			return x
		}
		return bound(alpha)
	}
}

// newDivergence returns the divergence of an event as accountant.Simplify leaves it, and the
// theorem behind it. d is nil if e costs nothing at any order. Each event has a case here for the
// relations with a theorem; the formulas are in other files. The divergence of RepeatAndSelect at
// one order depends on the divergences of its event at all of the orders.
func newDivergence(e accountant.Event, r accountant.Relation, orders []float64) (d divergence, theorem string, err error) {
	switch e := e.(type) {
	case accountant.Gaussian:
		return gaussianDivergence(e.NoiseMultiplier / r.Sensitivity()), theoremGaussian, nil
	case accountant.Laplace:
		return laplaceDivergence(e.Scale / r.Sensitivity()), "Laplace; Mironov 2017", nil
	case accountant.DiscreteLaplace:
		return discreteLaplaceDivergence(r.Sensitivity()/e.Scale, r.Sensitivity()*float64(e.Sensitivity)), "discrete Laplace; its definition", nil
	case accountant.DiscreteGaussian:
		return gaussianDivergence(e.NoiseMultiplier / r.Sensitivity()), "discrete Gaussian; Canonne, Kamath, Steinke 2020", nil
	case accountant.BoundedRange:
		return rangeDivergence(e.Range * r.Sensitivity()), "bounded range; Dong, Durfee, Rogers 2020", nil
	case accountant.AddOrRemoveDP:
		if e.Delta == 0 {
			return pureDivergence(e.Under(r).Epsilon), theoremPure, nil
		}
	case accountant.ZCDP:
		return func(alpha float64) float64 { return e.Rho * alpha }, "zCDP; Bun, Steinke 2016", nil
	case accountant.ApproxDP:
		if e.Delta == 0 {
			return pureDivergence(e.Epsilon), theoremPure, nil
		}
	case accountant.SmoothGaussian:
		return e.Divergence, "noise scaled to smooth sensitivity; Papernot et al. 2018", nil
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			truth := 1 - e.NoiseProbability + e.NoiseProbability/float64(e.Buckets)
			return responseRenyi(e.Epsilon(), truth), theoremPure, nil
		}
	case accountant.TreeAggregation:
		if r == accountant.ZeroOut {
			// One release for each node whose sum holds the record (arXiv:2103.00039, Theorem C.1).
			node := gaussianDivergence(e.NoiseMultiplier)
			d := func(alpha float64) float64 { return float64(e.Depth()) * node(alpha) }
			return d, "tree aggregation; Kairouz et al. 2021", nil
		}
	case accountant.PoissonSampled:
		if d, theorem := poissonDivergence(e, r); d != nil {
			return d, theorem, nil
		}
	case accountant.PoissonSampledGroup:
		if e.GroupSize > mostGroup {
			return nil, "", fmt.Errorf("%w: found a group of %d records in Poisson samples, expected at most %d", accountant.ErrUnsupported, e.GroupSize, mostGroup)
		}
		if inner, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			all := gaussianDivergence(inner.NoiseMultiplier / float64(e.GroupSize))
			d := groupDivergence(e.SamplingProbability, e.GroupSize, inner.NoiseMultiplier).orElse(all)
			return d, "groups of records in Poisson samples; Ganesh 2024", nil
		}
	case accountant.BallsInBins:
		if inner, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			d := allocationDivergence(e.Bins, inner.NoiseMultiplier).orElse(gaussianDivergence(inner.NoiseMultiplier))
			return d, "balls in bins; Feldman, Shenfeld 2025", nil
		}
	case accountant.FixedSizeSampled:
		if inner, ok := e.Event.(accountant.Gaussian); ok && r == accountant.ReplaceOne {
			sigma := inner.NoiseMultiplier / r.Sensitivity()
			f := &fixedSize{gamma: float64(e.BatchSize) / float64(e.DatasetSize), sigma: sigma, logB: []float64{0}}
			d := divergence(f.divergence).orElse(gaussianDivergence(sigma))
			return d, "samples without replacement; Wang, Balle, Kasiviswanathan 2019, Theorem 27", nil
		}
	case accountant.TruncatedPoissonSampled:
		if inner, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			replaced := gaussianDivergence(inner.NoiseMultiplier / 2 / accountant.ReplaceOne.Sensitivity())
			d := truncatedDivergence(e, inner.NoiseMultiplier).orElse(replaced)
			return d, "truncated Poisson samples; Ganesh, McKenna, McMahan, Smith, Wu 2025", nil
		}
	case accountant.RepeatAndSelect:
		d, err := selectionDivergence(e, r, orders)
		return d, "private selection; Papernot, Steinke 2022", err
	}
	return nil, "", fmt.Errorf("%w: the %s accountant cannot analyse %v under %v", accountant.ErrUnsupported, nameRDP, e, r)
}

// mostGroup bounds the records of a group in Poisson samples: a mixture has one component more than
// the group has records, each evaluated at every node.
const mostGroup = 10_000

// Theorems that serve more than one event.
const (
	theoremGaussian = "Poisson-subsampled Gaussian; Mironov, Talwar, Zhang 2019"
	theoremPure     = "randomized response; Mironov 2017"
)

// divergenceOf returns the divergence of any valid event, also of one that accountant.Simplify
// takes apart. It is nil if e costs nothing at any order.
func divergenceOf(e accountant.Event, r accountant.Relation, orders []float64) (divergence, error) {
	var l accountant.Ledger
	if err := l.Add(e, 1); err != nil {
		return nil, err
	}
	released, err := accountant.Simplify(&l)
	if err != nil {
		return nil, err
	}
	if released.NonPrivate {
		return func(float64) float64 { return math.Inf(1) }, nil
	}
	var parts []divergence
	var counts []float64
	for _, entry := range released.Entries {
		d, _, err := newDivergence(entry.Event, r, orders)
		if err != nil {
			return nil, err
		}
		if d != nil {
			parts = append(parts, d)
			counts = append(counts, float64(entry.Count))
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return func(alpha float64) float64 {
		sum := 0.0
		for i, d := range parts {
			x := d(alpha)
			if !(x >= 0) {
				return math.NaN()
			}
			sum += counts[i] * x
		}
		return sum
	}, nil
}

// poissonDivergence returns the divergence of a Poisson-sampled release, nil if none is known. It
// is the same under ZeroOut as under AddOrRemoveOne: a zero contribution changes no sum.
func poissonDivergence(e accountant.PoissonSampled, r accountant.Relation) (d divergence, theorem string) {
	q := e.SamplingProbability
	switch inner := e.Event.(type) {
	case accountant.Gaussian:
		unsampled := gaussianDivergence(inner.NoiseMultiplier / r.Sensitivity())
		// Never below the divergence of the reversed pair (Mironov, Talwar, Zhang 2019, section 3).
		sampled := pair.Removed(q, inner.NoiseMultiplier)
		if r == accountant.ReplaceOne {
			sampled = pair.Replaced(q, inner.NoiseMultiplier)
		}
		return mixtureDivergence(sampled).orElse(unsampled), theoremGaussian
	case accountant.Laplace:
		if r != accountant.ReplaceOne {
			return sampledLaplaceDivergence(q, inner.Scale).orElse(laplaceDivergence(inner.Scale)), "Poisson-subsampled Laplace; Zhu, Dong, Wang 2022"
		}
	}
	return nil, ""
}

// groupDivergence returns the divergence of a Poisson-sampled Gaussian release for size records
// that belong together: a mixture of Gaussians with binomial weights against N(0, σ²) (Ganesh 2024,
// arXiv:2401.10294), the larger of the two directions.
func groupDivergence(q float64, size int, sigma float64) divergence {
	if q == 1 {
		return gaussianDivergence(sigma / float64(size))
	}
	removed := pair.RemovedGroup(q, size, sigma)
	forward, backward := mixtureDivergence(removed), mixtureDivergence(removed.Reversed())
	return func(alpha float64) float64 { return max(forward(alpha), backward(alpha)) }
}

// laplaceDivergence returns the divergence of Lap(1, scale) from Lap(0, scale): Mironov 2017,
// Proposition 6.
func laplaceDivergence(scale float64) divergence {
	return func(alpha float64) float64 { return theorems.LaplaceRenyi(scale, alpha) }
}

// pureDivergence returns the largest divergence of any ε-differentially private mechanism, which
// binary randomized response attains (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, Theorem 3.2
// with δ = 0: every such mechanism is a function of its answer).
func pureDivergence(epsilon float64) divergence {
	return responseRenyi(epsilon, 1/(1+math.Exp(-epsilon)))
}

// responseRenyi returns the divergence of randomised response that answers truly with probability
// truth, e^ε times as likely as each other answer: theorems.ResponseRenyi, kept to at most ε.
func responseRenyi(epsilon, truth float64) divergence {
	return func(alpha float64) float64 { return min(epsilon, theorems.ResponseRenyi(epsilon, truth, alpha)) }
}
