package pld

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
)

// releasePair is a release and how often it is made.
type releasePair struct {
	pair  pair.Pair
	count int
}

// pairs are the dominating pairs of a ledger: of the direction in which D has the record,
// and of the other one, which is nil if it is the same.
type pairs struct {
	removed, added []releasePair
	infinite       bool // a release has no guarantee at all
}

// dominatingPairs returns the dominating pairs of everything in the ledger. All Gaussian
// releases are one, of noise (Σ 1/σ²)^(-1/2): their losses are normal and add up. No pairs
// are left of a ledger that costs nothing.
func dominatingPairs(l *accountant.Ledger, r accountant.Relation) (pairs, error) {
	simple, err := accountant.Simplify(l)
	if err != nil {
		return pairs{}, err
	}
	out := pairs{infinite: simple.NonPrivate}
	symmetric := true
	precision := 0.0 // Σ 1/σ² of the Gaussian releases
	for _, entry := range simple.Entries {
		if sigma, ok := gaussianNoise(entry.Event, r); ok {
			precision += float64(entry.Count) / sigma / sigma
			continue
		}
		removed, added, same, err := dominating(entry.Event, r)
		if err != nil {
			return pairs{}, err
		}
		symmetric = symmetric && same
		out.removed = append(out.removed, releasePair{removed, entry.Count})
		out.added = append(out.added, releasePair{added, entry.Count})
	}
	if precision > 0 {
		sigma := 1 / math.Sqrt(precision) * (1 - 1e-15) // rounded down: not more noise than there is
		gaussian := releasePair{pair.Gaussian(sigma), 1}
		out.infinite = out.infinite || !(sigma > 0)
		out.removed, out.added = append(out.removed, gaussian), append(out.added, gaussian)
	}
	if symmetric {
		out.added = nil
	}
	return out, nil
}

// gaussianNoise returns the noise, in units of the sensitivity under r, of an event that
// costs the same as one Gaussian release.
func gaussianNoise(e accountant.Event, r accountant.Relation) (sigma float64, ok bool) {
	switch e := e.(type) {
	case accountant.Gaussian:
		return e.NoiseMultiplier / r.Sensitivity(), true
	case accountant.TreeAggregation:
		return e.NoiseMultiplier / math.Sqrt(float64(e.Depth())), r == accountant.ZeroOut
	}
	return 0, false
}

// dominating returns the dominating pairs of one release that is not Gaussian, under relation r: of
// the direction in which D has the record, and of the other one; symmetric says that they are the
// same. The event is one that accountant.Simplify leaves. An event without a known pair, or that is
// not defined under the relation, is an error that matches ErrUnsupported.
func dominating(e accountant.Event, r accountant.Relation) (removed, added pair.Pair, symmetric bool, err error) {
	both := func(p pair.Pair) (pair.Pair, pair.Pair, bool, error) { return p, p, true, nil }
	switch e := e.(type) {
	case accountant.Laplace:
		return both(pair.Laplace(e.Scale / r.Sensitivity()))
	case accountant.ApproxDP:
		return both(pair.ApproxDP(e.Epsilon, e.Delta))
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			return both(pair.RandomizedResponse(e.Buckets, e.NoiseProbability))
		}
	case accountant.PoissonSampled:
		return poissonPair(e, r)
	case accountant.PoissonSampledGroup:
		if g, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			p := pair.RemovedGroup(e.SamplingProbability, e.GroupSize, g.NoiseMultiplier)
			return p, p.Reversed(), false, nil
		}
	case accountant.FixedSizeSampled:
		if g, ok := e.Event.(accountant.Gaussian); ok && r == accountant.ReplaceOne {
			q := float64(e.BatchSize) / float64(e.DatasetSize)
			return both(pair.Symmetric{Dominating: pair.Removed(q, g.NoiseMultiplier/2)})
		}
	case accountant.TruncatedPoissonSampled:
		if g, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			return truncatedPair(e, g.NoiseMultiplier)
		}
	}
	return nil, nil, false, fmt.Errorf("%w: no dominating pair is known for %v under %v", accountant.ErrUnsupported, e, r)
}

func poissonPair(e accountant.PoissonSampled, r accountant.Relation) (removed, added pair.Pair, symmetric bool, err error) {
	switch inside := e.Event.(type) {
	case accountant.Gaussian:
		if r == accountant.ReplaceOne {
			p := pair.Replaced(e.SamplingProbability, inside.NoiseMultiplier)
			return p, p, true, nil
		}
		p := pair.Removed(e.SamplingProbability, inside.NoiseMultiplier)
		return p, p.Reversed(), false, nil
	case accountant.Laplace:
		if r != accountant.ReplaceOne {
			return pair.LaplaceRemoved(e.SamplingProbability, inside.Scale), pair.LaplaceAdded(e.SamplingProbability, inside.Scale), false, nil
		}
	}
	return nil, nil, false, fmt.Errorf("%w: no dominating pair is known for %v under %v", accountant.ErrUnsupported, e, r)
}

// truncatedPair is the pair of Ganesh et al. 2025 (arXiv:2508.15089), which begins with a
// public coin: if the sample of the other records is full, the record pushes one of them
// out (a replacement), otherwise the sample is a Poisson sample. See pair.Truncation.
func truncatedPair(e accountant.TruncatedPoissonSampled, sigma float64) (removed, added pair.Pair, symmetric bool, err error) {
	p := pair.Removed(e.SamplingProbability, sigma)
	full, stays := pair.Truncation(e.DatasetSize, e.SamplingProbability, e.MaxBatchSize)
	if full == 0 {
		return p, p.Reversed(), false, nil
	}
	replaced := pair.Replaced(stays, sigma/2)
	combine := func(p pair.Pair) pair.Pair {
		return pair.Combination{{Weight: full, Pair: replaced}, {Weight: 1 - full, Pair: p}}
	}
	return combine(p), combine(p.Reversed()), false, nil
}
