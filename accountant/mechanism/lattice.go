package mechanism

import "math"

// The sums over the integers of the discrete Gaussian, which are the integrals of
// mills.go on a lattice of step h = 1/σ.

// latticeWeight is exp(-y²/(2σ²)) for an integer y.
func latticeWeight(sigma, y float64) float64 {
	return expNeg(product(y, y).div(product(sigma, sigma)).half())
}

// latticeSum is Σ exp(-y²/(2σ²)) over all integers. By Poisson summation it
// is √(2π) σ (1 + 2 exp(-2π²σ²) + ...), for σ ≥ 4 the first term to 130 digits.
func latticeSum(sigma float64) float64 {
	if sigma >= 4 {
		return sigma / invSqrt2Pi
	}
	sum := 0.0
	for y := math.Ceil(9 * sigma); y >= 1; y-- {
		sum += math.Exp(-y / sigma * (y / sigma) / 2)
	}
	return 1 + 2*sum
}

// smooth is the largest step, and the largest rate of change per step, at which the
// Euler-Maclaurin formula with three corrections is used: the next correction is below
// 1e-17 of the sum. With a larger one a few hundred terms are the whole sum.
const smooth = 1.0 / 30

// tailSum is Σ_{n ≥ 0} f(n h) with f(u) = exp(-x u - u²/2), for x ≥ -1.
func tailSum(x, h float64) float64 {
	if h > smooth || x*h > smooth {
		return directSum(h, func(u float64) float64 { return math.Exp(-u * (x + u/2)) })
	}
	return mills(x)/h + 0.5 + boundaryTerms(x, h)
}

// tailDecrement is Σ_{n ≥ 0} f(n h) (1 - exp(-theta - d n h)), for x ≥ -1, theta ≥ 0
// and h ≤ d ≤ 2 max(1, x), where theta ≤ d h: tailSum(x, h) - exp(-theta) tailSum(x+d, h)
// without its cancellation.
func tailDecrement(x, d, theta, h float64) float64 {
	if h > smooth || (x+d)*h > smooth {
		return directSum(h, func(u float64) float64 {
			return -math.Exp(-u*(x+u/2)) * math.Expm1(-theta-d*u)
		})
	}
	return millsDecrement(x, d, theta)/h - math.Expm1(-theta)/2 +
		boundaryTerms(x, h) - math.Exp(-theta)*boundaryTerms(x+d, h)
}

// directSum adds f(n h) until the terms no longer count. For the functions above the terms
// fall at the latest from n h = 2 on, and the second is not 0 unless all from there
// underflow.
func directSum(h float64, f func(u float64) float64) float64 {
	sum := dd{f(0), 0} // the thousandth addition still counts
	for n := 1.0; ; n++ {
		u := n * h
		term := float64(f(u)) // rounded: not to be fused with the addition
		next := twoSum(sum.hi, term)
		sum = dd{next.hi, sum.lo + next.lo}
		if term <= sum.hi*0x1p-64 && (u > 2 || n > 2) {
			return sum.value()
		}
	}
}

// boundaryTerms are the corrections of the Euler-Maclaurin formula (DLMF 2.10.1)
//
//	Σ f(n h) = (1/h) ∫ f + f(0)/2 - Σ_k B_2k/(2k)! h^(2k-1) f^(2k-1)(0)
//
// for f(u) = exp(-x u - u²/2): its derivatives of odd order at 0 are -He_n(x), He the
// Hermite polynomials (DLMF 18.12.16), and B_2k/(2k)! is 1/12, -1/720, 1/30240.
func boundaryTerms(x, h float64) float64 {
	x2 := x * x
	he1 := x
	he3 := x * (x2 - 3)
	he5 := x * (x2*(x2-10) + 15)
	h2 := h * h
	return h * (he1/12 - h2*(he3/720-h2*he5/30240))
}
