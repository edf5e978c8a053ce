package theorems

import (
	"fmt"
	"math"

	"dpsgd/accountant"
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
		return 0, fmt.Errorf("%w: epsilon is %v, must be in [0, 1e270]", accountant.ErrInvalid, epsilon)
	}
	if err := accountant.ValidateDelta(delta); err != nil {
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
		return 0, fmt.Errorf("%w: epsilon %v at delta %v would take a sigma above %v", accountant.ErrInvalid, epsilon, delta, maxSigma)
	}
	return leastPrivate(excess, 0, hi)
}
