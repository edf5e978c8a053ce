package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// LaplaceScale returns the smallest scale b for which one release with Laplace noise, of density
// exp(-|z|/b)/(2b), is (epsilon, 0)-differentially private: b = 1/ε (Dwork, McSherry, Nissim, Smith
// 2006, Example 1), rounded up. Epsilon must be finite and above 0 (1e-307 or more, so that b is
// finite); else the error matches ErrInvalid.
func LaplaceScale(epsilon float64) (float64, error) {
	if err := validatePositive("epsilon", epsilon); err != nil {
		return 0, err
	}
	scale := numeric.QuotientUp(1, epsilon)
	if math.IsInf(scale, 1) {
		return 0, fmt.Errorf("%w: epsilon is %v, too small for a finite scale", accountant.ErrInvalid, epsilon)
	}
	return scale, nil
}

// laplaceSlack bounds the relative error of laplaceRenyi, in ulp.
const laplaceSlack = 8 // ulp

// maxLaplaceScale is the scale that a larger one is taken for.
const maxLaplaceScale = 1e140

// LaplaceRenyi returns the Rényi divergence of order alpha between the outputs of a release
// with Laplace noise on two numbers that differ by the sensitivity; scale is b over the
// sensitivity. Mironov 2017 (arXiv:1702.07476), Proposition 6 and Table II, gives
//
//	D_α = ln(A)/(α-1),  A = α/(2α-1) exp((α-1)/b) + (α-1)/(2α-1) exp(-α/b).
//
// The result lies between D_α and D_α·(1 + 1e-14), and is at most 1/b rounded up; a scale above
// 1e140 is taken for 1e140. Alpha = +Inf asks for the pure ε, 1/b. Scale is finite and above 0,
// alpha above 1.
func LaplaceRenyi(scale, alpha float64) float64 {
	pure := numeric.QuotientUp(1, scale)
	if math.IsInf(alpha, 1) || math.IsInf(pure, 1) {
		return pure
	}
	e := 1 / min(scale, maxLaplaceScale) // its square must not underflow
	return min(pure, roundUp(laplaceRenyi(e, alpha), 2*laplaceSlack))
}

// laplaceRenyi returns the divergence for the scale 1/e. The weights of the exponentials add
// up to 1 and the first-order terms cancel, so that with g(z) = exp(z) - 1 - z
//
//	A - 1 = α/(2α-1) g((α-1) e) + (α-1)/(2α-1) g(-α e),
//
// in which nothing is negative: it keeps its digits for the largest scales, where A
// itself would be 1, and for orders close to 1.
func laplaceRenyi(e, alpha float64) float64 {
	first := 1 / (2 - 1/alpha) // α/(2α-1): 2α may overflow
	second := (1 - 1/alpha) * first
	if alpha <= 2 {
		second = (alpha - 1) / (2*alpha - 1) // α-1 is exact
	}
	up := (alpha - 1) * e
	if up > 30 {
		// The second exponential is below 1e-26 of the first.
		return e + math.Log(first)/(alpha-1)
	}
	return math.Log1p(first*expExcess(up)+second*expExcess(-alpha*e)) / (alpha - 1)
}

// expExcess returns exp(z) - 1 - z, which is never negative.
func expExcess(z float64) float64 {
	if math.Abs(z) > 1 {
		return math.Expm1(z) - z
	}
	// Σ z^k/k! from k = 2, by Horner's rule; the first term left out is z²⁰/20!, 4e-19.
	sum := 1.0
	for k := 19.0; k >= 3; k-- {
		sum = 1 + sum*z/k
	}
	return z * z / 2 * sum
}

// ResponseRenyi returns the Rényi divergence of order alpha, not rounded up, between two
// distributions of which one outcome is e^L times as likely under the first as under the second,
// another the other way round, and the rest equally likely. loss is L, and likeliest the chance of
// the first outcome under the first distribution; both are above 0. The divergence is log(A)/(α-1),
// A being 1 plus the product of three positive numbers
//
//	likeliest (exp((α-1) L) - 1) (1 - exp(-α L)),
//
// so that no digit is lost where L is small.
func ResponseRenyi(loss, likeliest, alpha float64) float64 {
	factor := -likeliest * math.Expm1(-alpha*loss)
	if up := (alpha - 1) * loss; up < 700 {
		return math.Log1p(factor*math.Expm1(up)) / (alpha - 1)
	}
	// The 1 is below 1e-280 of the rest: likeliest is the chance of one of at most 2^53 answers.
	return loss + math.Log(factor)/(alpha-1)
}
