package rdp

import (
	"math"

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

// logExcessPoissonGaussian is log(A_α - 1), an integral over the real line in t = x/σ, φ being the
// normal density:
//
//	A_α - 1 = ∫ φ(t) f(w(t)) dt,   f(w) = (1+w)^α - 1 - α w,   w(t) = q (e^u - 1),   u = t/σ - 1/(2σ²).
//
// The sums of Mironov, Talwar, Zhang 2019, section 3.3, are for integer orders, or lose digits to
// cancellation.
//
// The integrand falls like φ to the left of 0 and to the right of the last of the Gaussians
// that make it up, of which φ(t) w^k has its centre at k/σ, k ≤ max(α, 2).
func logExcessPoissonGaussian(q, sigma, alpha float64) float64 {
	integrand := func(t float64) float64 { return logBernoulli(alpha, q, (t-0.5/sigma)/sigma) - t*t/2 }
	return logIntegral(integrand, 0, max(alpha, 2)/sigma) - math.Log(2*math.Pi)/2
}
