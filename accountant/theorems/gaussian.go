package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// gaussianSlack bounds the relative error of a δ that is computed here: 16 ulp, about
// three times what the tests have seen. Every δ is raised by it, and a search accepts
// an ε or a σ only if the raised δ is within the target.
const gaussianSlack = 16 * ulp

// The standard deviations between which δ is computed. A σ below minSigma is taken for no
// noise at all, one above maxSigma for maxSigma: both on the private side.
const (
	minSigma = 1e-140
	maxSigma = 1e300
)

// maxX is the largest x of a gaussianProfile. A larger x is taken for maxX: that raises δ,
// but both are far below the smallest float64.
const maxX = 1e150

// GaussianDelta returns the smallest δ for which one release with Gaussian noise is (epsilon,
// δ)-differentially private. Theorem 8 of Balle, Wang 2018 (arXiv:1805.06530) says that it is
//
//	δ = Φ(1/(2σ) - εσ) - exp(ε) Φ(-1/(2σ) - εσ).
//
// The result lies between δ and δ·(1 + 1e-14), or (1 + 1e-12) for a δ below 1e-305. It is at most 1
// and never 0: for a δ below the smallest float64 above 0 it is that one. Sigma must be finite and
// above 0, epsilon finite and at least 0; else the error matches ErrInvalid.
func GaussianDelta(sigma, epsilon float64) (float64, error) {
	if err := validatePositive("sigma", sigma); err != nil {
		return 0, err
	}
	if err := accountant.ValidateEpsilon(epsilon); err != nil {
		return 0, err
	}
	p := newGaussianProfile(sigma, epsilon)
	if delta := p.delta(); delta > normal {
		return min(1, delta*(1+gaussianSlack)), nil
	}
	return min(1, max(tinyFloat, roundUp(math.Exp(p.logUpper()), 1))), nil
}

// GaussianEpsilon returns the smallest ε ≥ 0 for which one release with Gaussian noise
// is (ε, delta)-differentially private: the inverse of GaussianDelta.
//
// The result is never below the true ε(δ). It is at most ε(δ·(1 - 1e-14))·(1 + 1e-14),
// which is 1e-14 above ε(δ) except where ε is about to reach 0, so that the last
// digits of delta decide. Below sigma = 1e-140 the result is +Inf. Sigma must be finite
// and above 0, delta in (0, 1); else the error matches ErrInvalid.
func GaussianEpsilon(sigma, delta float64) (float64, error) {
	if err := validatePositive("sigma", sigma); err != nil {
		return 0, err
	}
	if err := accountant.ValidateDelta(delta); err != nil {
		return 0, err
	}
	if sigma < minSigma {
		return math.Inf(1), nil
	}
	excess := func(epsilon float64) (float64, float64) {
		p := newGaussianProfile(sigma, epsilon)
		return p.logExcess(delta), -p.scaled() * mills(p.y) // d log(δ)/dε = -exp(ε) Φ(-y)/δ
	}
	if f, _ := excess(0); f <= 0 {
		return 0, nil
	}
	sigma = min(sigma, maxSigma)
	hi := (normalTailUpper(delta) + 0.5/sigma) / sigma * (1 + 8*ulp)
	return leastPrivate(excess, 0, hi)
}

// GaussianNoiseMultiplier returns the smallest σ for which one release with Gaussian noise is
// (epsilon, delta)-differentially private: the analytic calibration of Balle, Wang 2018 (Theorem 8,
// Algorithm 1).
//
// The result is never below the true σ(δ), and at most σ(δ·(1 - 1e-14))·(1 + 1e-14).
// Epsilon must be at least 0 and at most 1e270, delta in (0, 1), and some σ up to 1e300
// must do; else the error matches ErrInvalid.
func GaussianNoiseMultiplier(epsilon, delta float64) (float64, error) {
	if !(epsilon >= 0 && epsilon <= 1e270) {
		return 0, fmt.Errorf("%w: epsilon is %v, must be in [0, 1e270]", accountant.ErrInvalid, epsilon)
	}
	if err := accountant.ValidateDelta(delta); err != nil {
		return 0, err
	}
	excess := func(sigma float64) (float64, float64) {
		p := newGaussianProfile(sigma, epsilon)
		return p.logExcess(delta), -p.scaled() / p.sigma / p.sigma // d log(δ)/dσ = -φ(x)/(σ² δ)
	}
	// δ(ε) ≤ δ(0) = 2Φ(1/(2σ)) - 1 < φ(0)/σ.
	hi := invSqrt2Pi / delta
	// δ(ε) ≤ delta if εσ - 1/(2σ) is at least z, a quadratic equation.
	if z := normalTailUpper(delta); epsilon > 0 {
		hi = min(hi, (z+math.Sqrt(z*z+2*epsilon))/(2*epsilon))
	}
	if hi *= 1 + 64*ulp; hi > maxSigma {
		return 0, fmt.Errorf("%w: epsilon %v at delta %v would take a sigma above %v", accountant.ErrInvalid, epsilon, delta, maxSigma)
	}
	return leastPrivate(excess, 0, hi)
}

// normalTailUpper returns an x ≥ 0 with Φ(-x) ≤ delta, from Φ(-x) ≤ exp(-x²/2)/2.
// As δ(ε) < Φ(-x) for x = εσ - 1/(2σ), it bounds the ε of delta.
func normalTailUpper(delta float64) float64 {
	return math.Sqrt(max(0, -2*(numeric.Log(delta)+math.Ln2))) * (1 + 8*ulp)
}

// gaussianProfile is δ(ε) of one Gaussian release, in the variables
//
//	x = εσ - 1/(2σ),  y = εσ + 1/(2σ),  φ(x) = exp(ε) φ(y),
//
// with which the theorem says δ = Φ(-x) - φ(x) R(y) = φ(x) (R(x) - R(y)), R being the
// Mills ratio. The second form is for x ≥ -1. In the first, for x < -1,
// nothing cancels: y is above |x| then, and the second term less than half of the first.
type gaussianProfile struct {
	sigma float64
	half  dd      // x²/2
	y     float64 // εσ + 1/(2σ)
	value float64 // δ/φ(0)·exp(half) for x ≥ -1, else δ
	left  bool    // x < -1
}

func newGaussianProfile(sigma, epsilon float64) gaussianProfile {
	if sigma < minSigma { // no noise: δ = 1
		return gaussianProfile{sigma: sigma, value: 1, left: true}
	}
	sigma = min(sigma, maxSigma)
	shift := quotient(0.5, sigma)                // 1/(2σ)
	x := exactProduct(epsilon, sigma).sub(shift) // to 106 bits: εσ and 1/(2σ) may agree in many
	if !(x.hi < maxX) {                          // also if εσ overflows
		return gaussianProfile{sigma: sigma, half: dd{hi: maxX * maxX / 2}, y: maxX, value: 1}
	}
	p := gaussianProfile{sigma: sigma, half: x.mul(x).half(), y: epsilon*sigma + shift.hi}
	if p.left = x.hi < -1; p.left {
		p.value = normalCDF(-x.hi) - invSqrt2Pi*expNeg(p.half)*mills(p.y)
	} else {
		p.value = max(1e-307, millsDecrement(x.hi, 2*shift.hi)) // less than that only where exp(-half) is 0
	}
	return p
}

// delta returns δ, not rounded up. It may underflow.
func (p gaussianProfile) delta() float64 {
	if p.left {
		return p.value
	}
	return expNeg(p.half) * (invSqrt2Pi * p.value)
}

// normal is a δ above which no step of its computation underflows.
const normal = 1e-305

// logUpper returns log(δ) rounded up.
func (p gaussianProfile) logUpper() float64 {
	log := -p.half.hi + (math.Log(invSqrt2Pi*p.value) - p.half.lo)
	if delta := p.delta(); delta > normal {
		log = math.Log(delta)
	}
	return log + gaussianSlack + 2*ulp*math.Abs(log)
}

// logExcess returns log(δ'/target) for δ' = δ rounded up: it is at most 0 exactly if δ'
// is at most target.
func (p gaussianProfile) logExcess(target float64) float64 {
	if delta := p.delta(); delta > normal && target > normal {
		return logRatio(delta*(1+gaussianSlack), target)
	}
	return p.logUpper() - (numeric.Log(target) - 1000*ulp) // an ulp of log δ is up to 512 ulp of 1
}

// scaled returns φ(x)/δ.
func (p gaussianProfile) scaled() float64 {
	if p.left {
		return invSqrt2Pi * expNeg(p.half) / p.value
	}
	return 1 / p.value
}
