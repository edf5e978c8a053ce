package rdp

import (
	"math"
	"sync"

	"dpsgd/accountant/internal/numeric"
)

// fixedSize is the bound of Wang, Balle, Kasiviswanathan 2019, arXiv:1808.00087,
// Theorem 27, for a Gaussian release on a subset of exactly m of n records, under
// ReplaceOne. For an integer order α ≥ 2, with γ = m/n and ε(j) = j/(2σ²) the divergence
// of the release that is not sampled, A_α - 1 is at most
//
//	Σ_j γ^j C(α,j) c_j,   c_2 = min(4 (e^ε(2) - 1), 2 e^ε(2)),
//	c_j = min(4 (B(2⌊j/2⌋) B(2⌈j/2⌉))^(1/2), 2 e^((j-1) ε(j))) for 3 ≤ j ≤ α.
//
// It is an upper bound and not tight. Between integers (α-1) D_α, a convex function of
// α, is interpolated (Corollary 10 there).
type fixedSize struct {
	gamma float64 // m/n
	sigma float64 // noise over the sensitivity, which is twice the norm of a contribution

	mu   sync.Mutex
	logB []float64 // logB[i] is log B(2i), computed as far as it was needed
}

// maxDifference is the largest l for which B(l) is used. Beyond it the simpler of the
// two bounds for c_j serves: for l²/σ² in the tens it is the smaller one anyway.
const maxDifference = 256

// divergence returns the bound at alpha, or the divergence of the release without sampling
// where that is smaller.
func (f *fixedSize) divergence(alpha float64) float64 {
	unsampled := gaussianDivergence(f.sigma)(alpha)
	if f.gamma == 1 {
		return unsampled
	}
	floor := math.Floor(alpha)
	part := alpha - floor
	cumulant := (1 - part) * f.cumulant(floor)
	if part > 0 {
		cumulant += part * f.cumulant(floor+1)
	}
	return min(cumulant/(alpha-1), unsampled)
}

// cumulant returns the bound of log A_n for the order n, an integer of at least 1.
func (f *fixedSize) cumulant(order float64) float64 {
	n := int(order)
	if n < 2 {
		return 0
	}
	logGamma := math.Log(f.gamma)
	var sum numeric.LogSum
	for j := 2; j <= n; j++ {
		logChoose := logFactorial(order) - logFactorial(float64(j)) - logFactorial(float64(n-j))
		sum.Add(logChoose + float64(j)*logGamma + f.logCoefficient(j))
	}
	return numeric.Log1pExp(sum.Log())
}

// logCoefficient returns log c_j, for the c_j of [fixedSize].
func (f *fixedSize) logCoefficient(j int) float64 {
	moment := float64(j) * float64(j-1) / f.sigma / (2 * f.sigma) // (j-1) ε(j)
	simple := math.Ln2 + moment
	switch {
	case j == 2:
		return min(2*math.Ln2+numeric.LogExpm1(moment), simple)
	case j+1 > maxDifference:
		return simple
	}
	return min(2*math.Ln2+(f.logDifference(j/2)+f.logDifference((j+1)/2))/2, simple)
}

// logDifference returns log B(2i). B(l) is the l-th forward difference at 0 of the moments
// e^((j-1) ε(j)) = E_Q[(P/Q)^j], and the difference of powers is a power of a difference:
//
//	B(l) = Σ_j (-1)^(l-j) C(l,j) E_Q[(P/Q)^j] = E_Q[(P/Q - 1)^l],   P = N(1, σ²), Q = N(0, σ²).
//
// The sum alternates and loses all digits for large σ. The expectation is of something
// positive, for an even l, and is computed as such. In t = x/σ the integrand has one peak
// on either side of P/Q = 1, within √l of 0 on the left and within l/σ + √l on the right.
func (f *fixedSize) logDifference(i int) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.logB) <= i {
		l := float64(2 * len(f.logB))
		integrand := func(t float64) float64 { return l*logAbsExpm1((t-0.5/f.sigma)/f.sigma) - t*t/2 }
		f.logB = append(f.logB, logIntegral(integrand, -math.Sqrt(l), l/f.sigma+math.Sqrt(l))-math.Log(2*math.Pi)/2)
	}
	return f.logB[i]
}

func logAbsExpm1(u float64) float64 {
	if u > 0 {
		return numeric.LogExpm1(u)
	}
	return math.Log(-math.Expm1(u))
}
