package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// maxNodes bounds the work for one order. It is reached for noise multipliers below
// about 1e-4, where epsilon is in the millions.
const maxNodes = 1 << 18

// logExcessQuadrature is log(A_α - 1) (see poissonGaussianDivergence) for any
// real order α > 1, as a trapezoid sum of
//
//	F(t) = φ(t) f(w(t)),   f(w) = (1+w)^α - 1 - α w,   w(t) = q (e^u - 1),   u = t/σ - 1/(2σ²),
//
// over the real line, φ the normal density, t = x/σ. The signed series of
// Mironov, Talwar, Zhang 2019, section 3.3, loses digits to cancellation; this
// sum has positive terms only. NaN if it would take more than maxNodes.
//
// F falls like φ to the left of 0 and to the right of the last of the Gaussians
// that make it up, of which φ(t) w^k has its centre at k/σ, k ≤ max(α, 2).
func logExcessQuadrature(q, sigma, alpha float64) float64 {
	integrand := func(t float64) float64 {
		return logBernoulli(alpha, q, (t-0.5/sigma)/sigma) - t*t/2
	}
	h := trapezoidStep(q, sigma, alpha, integrand)
	first, last := math.Ceil(-reach/h), math.Floor((max(alpha, 2)/sigma+reach)/h)
	if !(last-first < maxNodes) {
		return math.NaN()
	}
	var sum numeric.LogSum
	for j := first; j <= last; j++ {
		sum.Add(integrand(j * h))
	}
	return sum.Log() + math.Log(h/math.Sqrt(2*math.Pi))
}

// trapezoidStep returns a step for which the sum has a relative error of about
// exp(-36) = 2e-16 (Trefethen, Weideman 2014, section 5: the error is the integral of
// F(t+ib) exp(-2πb/h) over a contour above the real line and its mirror below).
//
// For large b the Gaussian takes over: |F(t+ib)| is about F(t) exp(b²/2), b = 2π/h is
// best, and the error is exp(-2π²/h²). But (1+w)^α has branch points where 1+w = 0,
// at tc ± iπσ, tc = σ log((1-q)/q) + 1/(2σ), and the contour must pass below. There
// |1+w| is at most twice 1-q, so this part adds at most
//
//	φ(tc) (2(1-q))^α exp((πσ)²/2 - 2π²σ/h),
//
// which needs a smaller step only if it matters beside the integral: for small σ it
// lies in a deep valley of F.
func trapezoidStep(q, sigma, alpha float64, integrand func(t float64) float64) float64 {
	const digits = 36.0
	const gaussianStep = 0.7 // exp(-2π²/0.7²) = exp(-40)
	peak := math.Inf(-1)     // a lower bound for max log F
	for _, t := range []float64{-1, 1 + 0.5/sigma, 2 / sigma, alpha / sigma} {
		peak = max(peak, integrand(t))
	}
	tc := sigma*(math.Log1p(-q)-math.Log(q)) + 0.5/sigma
	valley := alpha*(math.Ln2+math.Log1p(-q)) - tc*tc/2
	height := min(math.Pi*sigma, 2*math.Pi/gaussianStep)
	need := digits + height*height/2 + (valley - peak)
	if need <= 0 {
		return gaussianStep
	}
	return min(gaussianStep, 2*math.Pi*height/need)
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

// logBernoulliOf is logBernoulli as a function of w ≥ -1 and log(1+w), of which the
// first may be +Inf and the second -Inf.
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

// bernoulliSeries is logBernoulli for small α|w|, where the differences would
// cancel: Σ_{k≥2} C(α,k) w^k. Each term is less than a tenth of the one before.
func bernoulliSeries(alpha, w float64) float64 {
	term := alpha * (alpha - 1) / 2
	sum := term
	for k := 3.0; math.Abs(term) > 1e-17*sum; k++ {
		term *= (alpha - k + 1) / k * w
		sum += term
	}
	return 2*math.Log(math.Abs(w)) + math.Log(sum)
}
