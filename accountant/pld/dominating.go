package pld

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
)

// pairs holds the dominating pairs of a ledger for both directions: in removed P is with the record
// and Q without it, in added it is the other way round. added is nil if the two are the same.
type pairs struct {
	removed, added []pair.Part
	infinite       bool // a release has no guarantee at all
}

// mostGroup bounds the records of a group in Poisson samples: their mixture has one component more,
// each evaluation looks at all components, and a million kept a machine busy for hours.
const mostGroup = 1000

// dominatingPairs returns the dominating pairs of everything in the ledger, none if it costs
// nothing. All Gaussian releases become one, of noise (Σ 1/σ²)^(-1/2): their losses are
// normal and add up.
func dominatingPairs(l *accountant.Ledger, r accountant.Relation) (pairs, error) {
	simple, err := accountant.Simplify(l)
	if err != nil {
		return pairs{}, err
	}
	out := pairs{infinite: simple.NonPrivate}
	symmetric := true
	var gaussians []accountant.Entry // in units of the sensitivity
	for _, entry := range simple.Entries {
		if g, ok := entry.Event.(accountant.PoissonSampledGroup); ok && g.GroupSize > mostGroup {
			return pairs{}, fmt.Errorf("%w: found a group of %d records in Poisson samples, expected at most %d", accountant.ErrUnsupported, g.GroupSize, mostGroup)
		}
		if sigma, ok := gaussianNoise(entry.Event, r); ok {
			gaussians = append(gaussians, accountant.Entry{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: entry.Count})
			continue
		}
		removed, added := dominating(entry.Event, r)
		if removed == nil {
			return pairs{}, fmt.Errorf("%w: no dominating pair is known for %v under %v", accountant.ErrUnsupported, entry.Event, r)
		}
		symmetric = symmetric && added == nil
		if added == nil {
			added = removed
		}
		out.removed = append(out.removed, pair.Part{Pair: removed, Count: entry.Count})
		out.added = append(out.added, pair.Part{Pair: added, Count: entry.Count})
	}
	if len(gaussians) > 0 {
		sigma := accountant.JoinedNoise(gaussians)
		gaussian := pair.Part{Pair: pair.Gaussian(sigma), Count: 1}
		out.infinite = out.infinite || !(sigma > 0)
		out.removed, out.added = append(out.removed, gaussian), append(out.added, gaussian)
	}
	if symmetric {
		out.added = nil
	}
	return out, nil
}

// gaussianNoise returns the noise, in units of the sensitivity under r, if the event costs the same
// as one Gaussian release. ok is false for other events.
func gaussianNoise(e accountant.Event, r accountant.Relation) (sigma float64, ok bool) {
	switch e := e.(type) {
	case accountant.Gaussian:
		return e.NoiseMultiplier / r.Sensitivity(), true
	case accountant.TreeAggregation:
		return e.NoiseMultiplier / math.Sqrt(float64(e.Depth())), r == accountant.ZeroOut
	}
	return 0, false
}

// dominating returns the dominating pairs of one release that is not Gaussian, under relation r:
// removed for the direction in which D has the record, added for the other one. added is nil if the
// two are the same. Both are nil if no pair is known, or e is not defined under r. The event is one
// that accountant.Simplify leaves.
func dominating(e accountant.Event, r accountant.Relation) (removed, added pair.Pair) {
	switch e := e.(type) {
	case accountant.Laplace:
		return pair.Laplace(e.Scale / r.Sensitivity()), nil
	case accountant.DiscreteLaplace:
		return discreteLaplacePair(r.Sensitivity()/e.Scale, r.Sensitivity()*float64(e.Sensitivity)), nil
	case accountant.DiscreteGaussian:
		return discreteGaussianPair(e, r), nil
	case accountant.BoundedRange:
		return rangePair(e.Range * r.Sensitivity()), nil
	case accountant.AddOrRemoveDP:
		under := e.Under(r)
		return pair.ApproxDP(under.Epsilon, under.Delta), nil
	case accountant.ApproxDP:
		return pair.ApproxDP(e.Epsilon, e.Delta), nil
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			return pair.RandomizedResponse(e.Buckets, e.NoiseProbability), nil
		}
	case accountant.PoissonSampled:
		return poissonPair(e, r)
	case accountant.PoissonSampledGroup:
		if g, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			p := pair.RemovedGroup(e.SamplingProbability, e.GroupSize, g.NoiseMultiplier)
			return p, p.Reversed()
		}
	case accountant.BallsInBins:
		if g, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			return pair.BallsInBins(e.Bins, g.NoiseMultiplier)
		}
	case accountant.FixedSizeSampled:
		if g, ok := e.Event.(accountant.Gaussian); ok && r == accountant.ReplaceOne {
			q := float64(e.BatchSize) / float64(e.DatasetSize)
			return pair.Symmetric{Dominating: pair.Removed(q, g.NoiseMultiplier/2)}, nil
		}
	case accountant.TruncatedPoissonSampled:
		if g, ok := e.Event.(accountant.Gaussian); ok && r != accountant.ReplaceOne {
			return truncatedPair(e, g.NoiseMultiplier)
		}
	}
	return nil, nil
}

// discreteGaussianPair returns the pair of a sum of integers that moves in one coordinate. It is
// nil for noise too wide for pair.DiscreteGaussian, and where a record, or its replacement, moves
// more than one coordinate: the worst direction is not known.
func discreteGaussianPair(e accountant.DiscreteGaussian, r accountant.Relation) pair.Pair {
	sigma := e.NoiseMultiplier * float64(e.Sensitivity)
	if e.Sensitivity == 0 || r == accountant.ReplaceOne || !(sigma <= pair.MaxDiscreteSigma) {
		return nil
	}
	if sigma < 1e-3 {
		return pair.ApproxDP(0, 1) // no noise to speak of
	}
	return pair.DiscreteGaussian(sigma, e.Sensitivity)
}

// discreteLaplacePair returns the pair of sums of integers that move by distance, with discrete
// Laplace noise of ε epsilon, or that of pure ε for an ε below 1e-12 or above 600.
func discreteLaplacePair(epsilon, distance float64) pair.Pair {
	if !(epsilon >= 1e-12 && epsilon <= 600) {
		return pair.ApproxDP(epsilon, 0)
	}
	return pair.DiscreteLaplace(epsilon, distance)
}

// rangePair returns the pair of bounded range, or of pure ε for widths below 1e-9 or above 700.
func rangePair(width float64) pair.Pair {
	if width < 1e-9 || width > 700 {
		return pair.ApproxDP(width, 0)
	}
	return pair.BoundedRange{Range: width}
}

func poissonPair(e accountant.PoissonSampled, r accountant.Relation) (removed, added pair.Pair) {
	q := e.SamplingProbability
	switch inside := e.Event.(type) {
	case accountant.Gaussian:
		if r == accountant.ReplaceOne {
			return pair.Replaced(q, inside.NoiseMultiplier), nil
		}
		p := pair.Removed(q, inside.NoiseMultiplier)
		return p, p.Reversed()
	case accountant.Laplace:
		if r != accountant.ReplaceOne {
			p := pair.LaplaceRemoved(q, inside.Scale)
			return p, p.Reversed()
		}
	}
	return nil, nil
}

// truncatedPair returns the pairs of Ganesh et al. 2025 (arXiv:2508.15089) for both directions.
// They begin with a public coin: if the sample of the other records is full, the record pushes one
// of them out (a replacement), otherwise the sample is a Poisson sample. See pair.Truncation.
func truncatedPair(e accountant.TruncatedPoissonSampled, sigma float64) (removed, added pair.Pair) {
	p := pair.Removed(e.SamplingProbability, sigma)
	full, stays := pair.Truncation(e.DatasetSize, e.SamplingProbability, e.MaxBatchSize)
	if full == 0 {
		return p, p.Reversed()
	}
	replaced := pair.Replaced(stays, sigma/2)
	combine := func(p pair.Transformer) pair.Pair {
		return pair.Combination{{Weight: full, Pair: replaced}, {Weight: 1 - full, Pair: p}}
	}
	return combine(p), combine(p.Reversed())
}
