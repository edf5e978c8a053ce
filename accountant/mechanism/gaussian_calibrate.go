package mechanism

import (
	"fmt"
	"math"
)

// GaussianNoiseMultiplier returns the smallest σ for which one release with Gaussian
// noise of standard deviation σ times the L2 sensitivity is (epsilon, delta)-differentially
// private: the analytic calibration of Balle, Wang 2018 (Theorem 8, Algorithm 1). For a
// sensitivity s multiply by s.
//
// The result is never below the true σ(δ), and at most σ(δ·(1 - 1e-14))·(1 + 1e-14).
// Epsilon must be at least 0 and at most 1e270, delta in (0, 1), and some σ up to 1e300
// must do; else the error matches ErrInvalid.
func GaussianNoiseMultiplier(epsilon, delta float64) (float64, error) {
	if !(epsilon >= 0 && epsilon <= 1e270) {
		return 0, fmt.Errorf("%w: epsilon is %v, must be in [0, 1e270]", ErrInvalid, epsilon)
	}
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	excess := func(sigma float64) (float64, float64) {
		p := newGaussianProfile(sigma, epsilon)
		return p.logExcess(delta), p.slopeSigma()
	}
	// δ(ε) ≤ δ(0) = 2Φ(1/(2σ)) - 1 < φ(0)/σ.
	hi := invSqrt2Pi / delta
	// δ(ε) ≤ delta if εσ - 1/(2σ) is at least z, a quadratic equation.
	if z := normalTailUpper(delta); epsilon > 0 {
		hi = min(hi, (z+math.Sqrt(z*z+2*epsilon))/(2*epsilon))
	}
	if hi *= 1 + 64*ulp; hi > maxSigma {
		return 0, fmt.Errorf("%w: epsilon %v at delta %v would take a sigma above %v", ErrInvalid, epsilon, delta, maxSigma)
	}
	return leastPrivate(excess, 0, hi)
}

// ClassicGaussianNoiseMultiplier returns √(2 ln(1.25/δ))/ε, the σ of Dwork, Roth 2014,
// Theorem A.1, rounded up. It is always above GaussianNoiseMultiplier, and here for
// comparison with other work. The theorem is for ε in (0, 1) only: other values of
// epsilon, where the formula may promise too much, are an error that matches ErrInvalid.
func ClassicGaussianNoiseMultiplier(epsilon, delta float64) (float64, error) {
	if !(epsilon > 0 && epsilon < 1) {
		return 0, fmt.Errorf("%w: epsilon is %v, the classic calibration is proved for (0, 1) only", ErrInvalid, epsilon)
	}
	if err := validateDelta(delta); err != nil {
		return 0, err
	}
	// ln(1.25/δ) = -ln(δ/1.25): 1.25/δ overflows for the smallest δ.
	sigma := roundUp(math.Sqrt(2*(math.Log(1.25)-math.Log(delta)))/epsilon, 4)
	if math.IsInf(sigma, 1) {
		return 0, fmt.Errorf("%w: epsilon is %v, too small for a finite sigma", ErrInvalid, epsilon)
	}
	return sigma, nil
}
