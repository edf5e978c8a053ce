package rdp

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// gaussianDivergence returns the divergence of N(1, σ²) from N(0, σ²), α/(2σ²) (Mironov
// 2017, Proposition 7). It is +Inf for σ = 0.
func gaussianDivergence(sigma float64) divergence {
	return func(alpha float64) float64 { return alpha / sigma / (2 * sigma) }
}

// mixtureDivergence returns D_α(P‖Q) of a pair of mixtures of Gaussians, log(A_α)/(α-1): NaN at an
// order at which it cannot be computed.
func mixtureDivergence(m pair.Mixtures) divergence {
	return func(alpha float64) float64 { return numeric.Log1pExp(logExcessMixtures(m, alpha)) / (alpha - 1) }
}

// logExcessMixtures returns log(A_α - 1), A_α = E_Q[(P/Q)^α], for any real order α > 1. With A and
// B the densities of P and Q divided by the density of N(0, σ²), and w = A/B - 1,
//
//	A_α - 1 = E_Q[f(w)] = E_N(0, σ²)[B f(w)],   f(w) = (1+w)^α - 1 - α w,
//
// because E_Q[w] = 0. f is nowhere negative (Bernoulli's inequality), so that summing it loses
// nothing even where A_α - 1 is 1e-12: the usual route by log(A_α) has no digits left there, and
// the series of Mironov, Talwar, Zhang 2019, section 3.3, are for integer orders or alternate. The
// sum is over t = x/σ. NaN if it takes too many nodes.
//
// The integrand falls like φ(t) to the left of the leftmost Gaussian of Q and to the right
// of A^α B^(1-α) at its steepest, or of w² where w is small.
func logExcessMixtures(m pair.Mixtures, alpha float64) float64 {
	mostP, leastQ := m.Extent()
	integrand := func(t float64) float64 {
		logP, linearP := pair.LogMixture(m.P, m.Sigma, t*m.Sigma)
		logQ, linearQ := pair.LogMixture(m.Q, m.Sigma, t*m.Sigma)
		logRatio, excessQ := logP-logQ, logQ-linearQ
		w := (logP - linearP - excessQ) / (1 + excessQ)
		if !(math.Abs(logRatio) < 1) {
			w = math.Expm1(logRatio)
		}
		return logQ + logBernoulliOf(alpha, w, logRatio) - t*t/2
	}
	return logIntegral(integrand, leastQ/m.Sigma, (mostP*max(alpha, 2)-leastQ*(alpha-1))/m.Sigma) - math.Log(2*math.Pi)/2
}

// truncatedDivergence returns the divergence of a Gaussian release on a Poisson sample that is cut
// down to at most MaxBatchSize records. The pair that dominates it begins with a public coin
// (Ganesh, McKenna, McMahan, Smith, Wu 2025, arXiv:2508.15089, as in dp_accounting 0.6.0). If the
// sample of the other records is full, the record pushes another one out: then the pair is the one
// of a replaced record with noise σ/2, sampled with the probability that the record stays. Else the
// pair is the Poisson one. A_α of the whole is the sum of both, weighted by the coin.
//
// The noise of σ/2 covers more than the replacement asks for, so this is an upper
// bound, not the exact divergence of the mechanism.
func truncatedDivergence(e accountant.TruncatedPoissonSampled, sigma float64) divergence {
	poisson := pair.Removed(e.SamplingProbability, sigma)
	full, stays := pair.Truncation(e.DatasetSize, e.SamplingProbability, e.MaxBatchSize)
	if full == 0 {
		return mixtureDivergence(poisson)
	}
	replaced := pair.Replaced(stays, sigma/2)
	return func(alpha float64) float64 {
		var sum numeric.LogSum
		sum.Add(math.Log(full) + logExcessMixtures(replaced, alpha))
		if full < 1 {
			sum.Add(math.Log1p(-full) + logExcessMixtures(poisson, alpha))
		}
		return numeric.Log1pExp(sum.Log()) / (alpha - 1)
	}
}

// logBernoulli returns log((1+w)^α - 1 - α w) for w = q (e^u - 1) > -1 and α > 1. The
// difference is at least 0 by Bernoulli's inequality and 0 only for w = 0.
func logBernoulli(alpha, q, u float64) float64 {
	if u > 700 { // exp(u) is near the end of float64
		logW := math.Log(q) + u
		return logBernoulliOf(alpha, math.Exp(logW), numeric.Log1pExp(logW))
	}
	w := q * math.Expm1(u)
	return logBernoulliOf(alpha, w, math.Log1p(w))
}

// logBernoulliOf returns log((1+w)^α - 1 - α w), given w ≥ -1 and logOnePlus, log(1+w). w may be
// +Inf, logOnePlus -Inf.
func logBernoulliOf(alpha, w, logOnePlus float64) float64 {
	if math.Abs(w)*alpha < 0.1 {
		return bernoulliSeries(alpha, w)
	}
	x := alpha * logOnePlus
	switch {
	case logOnePlus > 600: // w cannot be told from 1+w
		return x + math.Log1p(-math.Exp(math.Log(alpha)+logOnePlus-x))
	case x > 600:
		return x + math.Log1p(-math.Exp(math.Log1p(alpha*w)-x))
	}
	return math.Log(math.Expm1(x) - alpha*w)
}

// bernoulliSeries returns what logBernoulliOf does for α|w| < 0.1, where the differences would
// cancel: the logarithm of Σ_{k≥2} C(α,k) w^k. Each term is less than a tenth of the one before.
func bernoulliSeries(alpha, w float64) float64 {
	term := alpha * (alpha - 1) / 2
	sum := term
	for k := 3.0; math.Abs(term) > 1e-17*sum; k++ {
		term *= (alpha - k + 1) / k * w
		sum += term
	}
	return 2*math.Log(math.Abs(w)) + math.Log(sum)
}
