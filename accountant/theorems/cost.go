package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// cost is the cost of one release: an epsilon for a share of delta.
type cost struct {
	// at returns a guarantee whose delta is at most the share; only a release that takes
	// no share has one above 0 at share 0. Epsilon is +Inf where the share is too small.
	at         func(share float64) (Guarantee, error)
	takesShare bool
}

// releaseCost returns the cost of e, an event that accountant.Simplify leaves, under r:
//
//	ApproxDP             (ε, δ)
//	AddOrRemoveDP        (ε, δ), and for ReplaceOne what a group of two sees
//	Laplace              (s/b, 0), with s = 2 under ReplaceOne, else 1
//	DiscreteLaplace      (s/b, 0)
//	BoundedRange         (sε, 0)
//	RandomizedResponse   (log(1 + k(1-p)/p), 0)
//	Gaussian             the exact ε of noise σ/s at the share (Balle, Wang 2018)
//	ZCDP                 (ρ + 2√(ρ log(1/share)), share) (Bun, Steinke 2016, Proposition 1.3)
//	DiscreteGaussian     likewise, ρ = s²/(2σ²) (Canonne, Kamath, Steinke 2020, Theorem 14)
//	samples              log(1 + q(e^ε-1)), qδ of what is done to the sample (Balle, Barthe,
//	                     Gaboardi 2018, arXiv:1807.01647v2, Theorems 8 and 9), whose share is
//	                     1/q of theirs
func releaseCost(e accountant.Event, r accountant.Relation) (cost, error) {
	switch e := e.(type) {
	case accountant.ApproxDP:
		return fixedCost(Guarantee{Epsilon: e.Epsilon, Delta: e.Delta}), nil
	case accountant.AddOrRemoveDP:
		under := e.Under(r)
		if under.Delta == 1 {
			return fixedCost(Guarantee{Epsilon: math.Inf(1), Delta: 1}), nil
		}
		return fixedCost(Guarantee{Epsilon: under.Epsilon, Delta: under.Delta}), nil
	case accountant.DiscreteLaplace:
		return fixedCost(Guarantee{Epsilon: numeric.QuotientUp(r.Sensitivity(), e.Scale)}), nil
	case accountant.BoundedRange:
		return fixedCost(Guarantee{Epsilon: numeric.MulUp(r.Sensitivity(), e.Range)}), nil
	case accountant.DiscreteGaussian:
		s := r.Sensitivity()
		return cost{zcdpCost(numeric.Up(s/e.NoiseMultiplier*(s/e.NoiseMultiplier)/2, 8)), true}, nil
	case accountant.Laplace:
		return fixedCost(Guarantee{Epsilon: numeric.QuotientUp(r.Sensitivity(), e.Scale)}), nil
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			return fixedCost(Guarantee{Epsilon: numeric.Up(e.Epsilon(), 64)}), nil
		}
	case accountant.Gaussian:
		return cost{gaussianCost(e.NoiseMultiplier / r.Sensitivity()), true}, nil
	case accountant.ZCDP:
		return cost{zcdpCost(e.Rho), true}, nil
	case accountant.PoissonSampled:
		if poissonAmplifies(e.Event, r) {
			inside, err := releaseCost(e.Event, r)
			return sampledCost(inside, e.SamplingProbability, func(g Guarantee) (Guarantee, error) {
				return PoissonSampled(g, e.SamplingProbability)
			}), err
		}
	case accountant.FixedSizeSampled:
		if r == accountant.ReplaceOne && isBasic(e.Event) {
			inside, err := releaseCost(e.Event, r)
			eta := float64(e.BatchSize) / float64(e.DatasetSize)
			return sampledCost(inside, eta, func(g Guarantee) (Guarantee, error) {
				return SampledWithoutReplacement(g, e.DatasetSize, e.BatchSize)
			}), err
		}
	}
	return cost{}, fmt.Errorf("%w: composition of (ε, δ) cannot analyse %v under %v", accountant.ErrUnsupported, e, r)
}

// isBasic reports whether e is a release on all records that it gets.
func isBasic(e accountant.Event) bool {
	switch e.(type) {
	case accountant.ApproxDP, accountant.Laplace, accountant.RandomizedResponse, accountant.Gaussian, accountant.ZCDP:
		return true
	}
	return false
}

// poissonAmplifies reports whether the theorem for Poisson samples holds for e under r.
// It is about AddOrRemoveOne. Under ZeroOut noisy sums are the same thing. Under
// ReplaceOne the two sides of a sample share what they do without the record, so that
// the argument (advanced joint convexity, Theorem 2 there) needs e's guarantee for
// replacing and for removing a record; a noisy sum's for replacing is the larger.
func poissonAmplifies(e accountant.Event, r accountant.Relation) bool {
	switch e.(type) {
	case accountant.Gaussian, accountant.Laplace:
		return true
	}
	return r == accountant.AddOrRemoveOne && isBasic(e)
}

func fixedCost(g Guarantee) cost {
	return cost{at: func(float64) (Guarantee, error) { return g, nil }}
}

func gaussianCost(sigma float64) func(float64) (Guarantee, error) {
	return func(share float64) (Guarantee, error) {
		if share == 0 || sigma == 0 { // 0 by underflow
			return Guarantee{Epsilon: math.Inf(1)}, nil
		}
		if zero, err := GaussianDelta(sigma, 0); err != nil || zero <= share {
			return Guarantee{Delta: zero}, err // there is no use for more
		}
		epsilon, err := GaussianEpsilon(sigma, share)
		return Guarantee{Epsilon: epsilon, Delta: share}, err
	}
}

func zcdpCost(rho float64) func(float64) (Guarantee, error) {
	return func(share float64) (Guarantee, error) {
		if share == 0 {
			return Guarantee{Epsilon: math.Inf(1)}, nil
		}
		share = min(share, 1)
		return Guarantee{Epsilon: numeric.Up(rho+2*math.Sqrt(rho*-math.Log(share)), 64), Delta: share}, nil
	}
}

// sampledCost is the cost of a sample into which a record enters with probability q.
func sampledCost(inside cost, q float64, amplify func(Guarantee) (Guarantee, error)) cost {
	return cost{takesShare: inside.takesShare, at: func(share float64) (Guarantee, error) {
		g, err := inside.at(share / q * (1 - 1e-15)) // above 1 where every answer will do
		if err != nil {
			return Guarantee{}, err
		}
		return amplify(g)
	}}
}
