package rdp

import (
	"math"
	"sync"

	"dpsgd/accountant/internal/numeric"
)

// gaussianDivergence is the divergence of N(1, σ²) from N(0, σ²): α/(2σ²) (Mironov
// 2017, Proposition 7). It is +Inf for σ = 0.
func gaussianDivergence(sigma float64) divergence {
	return func(alpha float64) float64 { return alpha / sigma / (2 * sigma) }
}

// poissonGaussianDivergence is D_α(P‖Q) of one Poisson-sampled Gaussian release,
//
//	P = (1-q) N(0, σ²) + q N(1, σ²),   Q = N(0, σ²),   0 < q < 1, σ > 0, α > 1,
//
// which is never below D_α(Q‖P) (Mironov, Talwar, Zhang 2019, section 3), so it
// covers both directions of AddOrRemoveOne. With w = P/Q - 1,
//
//	D_α = log(A_α)/(α-1),   A_α = E_Q[(1+w)^α] = 1 + E_Q[(1+w)^α - 1 - α w],
//
// because E_Q[w] = 0. The last expectation is of a function that is nowhere negative
// (Bernoulli's inequality), so that summing it loses nothing even where A_α - 1 is
// 1e-12: the usual route by log(A_α) has no digits left there. NaN means
// that this order cannot be computed.
func poissonGaussianDivergence(q, sigma, alpha float64) float64 {
	return numeric.Log1pExp(logExcessPoissonGaussian(q, sigma, alpha)) / (alpha - 1)
}

// logExcessPoissonGaussian is log(A_α - 1).
func logExcessPoissonGaussian(q, sigma, alpha float64) float64 {
	if hasBinomial(sigma, alpha) {
		return logExcessBinomial(q, sigma, alpha)
	}
	return logExcessQuadrature(q, sigma, alpha)
}

// hasBinomial reports whether the binomial sum is there for the order (it needs an
// integer) and is the better way. For large σ the quadrature takes a step that is many
// integers wide; it is faster then, and does not meet the rounding of log n! for n in
// the thousands. Where both can be used they agree to 1e-12.
func hasBinomial(sigma, alpha float64) bool {
	return alpha == math.Floor(alpha) && (alpha <= 128 || sigma < 5)
}

// logExcessBinomial is log(A_n - 1) for an integer order n = alpha ≥ 2. Mironov, Talwar,
// Zhang 2019, section 3.3, gives
//
//	A_n = Σ_k C(n,k) (1-q)^(n-k) q^k exp((k²-k)/(2σ²)).
//
// The binomial weights add up to 1, so A_n - 1 is the same sum with exp replaced by
// expm1. The terms of k = 0 and 1 are then 0, and all others positive.
func logExcessBinomial(q, sigma, alpha float64) float64 {
	n := int(alpha)
	logFactorial := logFactorials(n)
	logQ, logNotQ := math.Log(q), math.Log1p(-q)
	var sum numeric.LogSum
	for k := n; k >= 2; k-- {
		exponent := float64(k) * float64(k-1) / sigma / (2 * sigma)
		logWeight := logFactorial[n] - logFactorial[k] - logFactorial[n-k] +
			float64(k)*logQ + float64(n-k)*logNotQ
		sum.Add(logWeight + numeric.LogExpm1(exponent))
	}
	return sum.Log()
}

// commonLogFactorials holds log k! for the orders of the default list.
var commonLogFactorials = sync.OnceValue(func() []float64 { return newLogFactorials(8192) })

// logFactorials returns log k! for 0 ≤ k ≤ n at least.
func logFactorials(n int) []float64 {
	if common := commonLogFactorials(); n < len(common) {
		return common
	}
	return newLogFactorials(n)
}

func newLogFactorials(n int) []float64 {
	table := make([]float64, n+1)
	for k := range table {
		table[k], _ = math.Lgamma(float64(k) + 1)
	}
	return table
}
