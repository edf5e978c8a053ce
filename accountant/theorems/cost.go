package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// cost is the (ε, δ) of one release for each share that it may get of the δ asked about.
type cost struct {
	// at returns the guarantee for a share of δ. If takesShare, its δ is at most the share, and its
	// ε +Inf where the share is too small; else it is the same guarantee for every share.
	at         func(share float64) guarantee
	takesShare bool
}

// releaseCost returns the cost of e, an event that accountant.Simplify leaves, under r:
//
//	ApproxDP             (ε, δ)
//	AddOrRemoveDP        (ε, δ), and for ReplaceOne what a group of two sees
//	Laplace              (s/b, 0) for the scale b, with s = 2 under ReplaceOne, else 1
//	DiscreteLaplace      (s/b, 0)
//	BoundedRange         (sε, 0)
//	RandomizedResponse   (log(1 + k(1-p)/p), 0)
//	Gaussian             the exact ε of noise σ/s at the share (Balle, Wang 2018)
//	ZCDP                 (ρ + 2√(ρ log(1/share)), share) (Bun, Steinke 2016, Proposition 1.3)
//	DiscreteGaussian     likewise, ρ = s²/(2σ²) (Canonne, Kamath, Steinke 2020, Theorem 14)
//	samples              (log(1 + q(e^ε-1)), qδ) for the (ε, δ) of the event on the sample (Balle,
//	                     Barthe, Gaboardi 2018, arXiv:1807.01647v2, Theorems 8 and 9), which gets
//	                     share/q
func releaseCost(e accountant.Event, r accountant.Relation) (cost, error) {
	switch e := e.(type) {
	case accountant.ApproxDP:
		return fixedCost(e.Epsilon, e.Delta), nil
	case accountant.AddOrRemoveDP:
		under := e.Under(r)
		return fixedCost(under.Epsilon, under.Delta), nil
	case accountant.DiscreteLaplace:
		return fixedCost(numeric.QuotientUp(r.Sensitivity(), e.Scale), 0), nil
	case accountant.Laplace:
		return fixedCost(numeric.QuotientUp(r.Sensitivity(), e.Scale), 0), nil
	case accountant.BoundedRange:
		return fixedCost(numeric.MulUp(r.Sensitivity(), e.Range), 0), nil
	case accountant.DiscreteGaussian:
		s := r.Sensitivity()
		return zcdpCost(numeric.Up(s/e.NoiseMultiplier*(s/e.NoiseMultiplier)/2, 8)), nil
	case accountant.RandomizedResponse:
		if r == accountant.ReplaceOne {
			return fixedCost(numeric.Up(e.Epsilon(), 64), 0), nil
		}
	case accountant.Gaussian:
		return gaussianCost(e.NoiseMultiplier / r.Sensitivity()), nil
	case accountant.ZCDP:
		return zcdpCost(e.Rho), nil
	case accountant.PoissonSampled:
		if poissonAmplifies(e.Event, r) {
			inside, err := releaseCost(e.Event, r)
			return sampledCost(inside, e.SamplingProbability, e.SamplingProbability), err
		}
	case accountant.FixedSizeSampled:
		if r == accountant.ReplaceOne && isBasic(e.Event) && e.DatasetSize <= maxCount {
			inside, err := releaseCost(e.Event, r)
			eta := float64(e.BatchSize) / float64(e.DatasetSize)
			return sampledCost(inside, eta, math.Min(1, numeric.Up(eta, 1))), err
		}
	}
	return cost{}, fmt.Errorf("%w: composition of (ε, δ) cannot analyse %v under %v", accountant.ErrUnsupported, e, r)
}

// isBasic reports whether releaseCost applies its theorems about samples to samples of e.
func isBasic(e accountant.Event) bool {
	switch e.(type) {
	case accountant.ApproxDP, accountant.Laplace, accountant.RandomizedResponse, accountant.Gaussian, accountant.ZCDP:
		return true
	}
	return false
}

// poissonAmplifies reports whether releaseCost's theorem for Poisson samples holds for samples of e
// under r. The theorem is about AddOrRemoveOne. Noisy sums under ZeroOut are the same thing. Under
// ReplaceOne both samples have the same law where the record is not drawn. The argument (advanced
// joint convexity, Theorem 2 of that paper) then needs the guarantee of e for replacing a record
// and for removing one. A noisy sum has the larger ε for replacing.
func poissonAmplifies(e accountant.Event, r accountant.Relation) bool {
	switch e.(type) {
	case accountant.Gaussian, accountant.Laplace:
		return true
	}
	return r == accountant.AddOrRemoveOne && isBasic(e)
}

func fixedCost(epsilon, delta float64) cost {
	return cost{at: func(float64) guarantee { return guarantee{epsilon, delta} }}
}

// gaussianCost returns the cost of Gaussian noise of deviation sigma over the sensitivity: the
// exact ε at the share, or +Inf where GaussianEpsilon returns an error.
func gaussianCost(sigma float64) cost {
	return cost{takesShare: true, at: func(share float64) guarantee {
		if share > 0 && sigma > 0 { // 0 by underflow
			if zero, err := GaussianDelta(sigma, 0); err == nil && zero <= share {
				return guarantee{Delta: zero} // there is no use for more
			}
			if epsilon, err := GaussianEpsilon(sigma, share); err == nil {
				return guarantee{epsilon, share}
			}
		}
		return guarantee{Epsilon: math.Inf(1)}
	}}
}

func zcdpCost(rho float64) cost {
	return cost{takesShare: true, at: func(share float64) guarantee {
		if share == 0 {
			return guarantee{Epsilon: math.Inf(1)}
		}
		share = min(share, 1)
		return guarantee{numeric.Up(rho+2*math.Sqrt(rho*-numeric.Log(share)), 64), share}
	}}
}

// sampledCost returns the cost of a release on a sample that holds a record with probability q.
// If inside costs (ε, δ) at share/q, it is (log(1 + up(e^ε - 1)), up·δ). up is q, rounded up.
func sampledCost(inside cost, q, up float64) cost {
	return cost{takesShare: inside.takesShare, at: func(share float64) guarantee {
		g := inside.at(share / q * (1 - 1e-15)) // above 1 where every answer will do
		if up == 1 {
			return g
		}
		return guarantee{sampledEpsilon(g.Epsilon, up), numeric.MulUp(up, g.Delta)}
	}}
}

// sampledEpsilon returns log(1 + q(e^ε - 1)), rounded up and at most ε.
func sampledEpsilon(epsilon, q float64) float64 {
	switch {
	case q == 0 || epsilon == 0:
		return 0
	case epsilon > 700: // e^ε overflows
		return math.Min(epsilon, numeric.Up(epsilon+math.Log(q+(1-q)*math.Exp(-epsilon)), 8))
	}
	return math.Min(epsilon, numeric.Up(math.Log1p(q*math.Expm1(epsilon)), 8))
}
