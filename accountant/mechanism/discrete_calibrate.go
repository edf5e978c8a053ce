package mechanism

import (
	"fmt"
	"math"
)

// DiscreteGaussianSigma returns the smallest σ from which on every release as in
// DiscreteGaussianDelta is (epsilon, delta)-differentially private for changes of up to
// sensitivity.
//
// "From which on" matters: for an epsilon above about the sensitivity, δ does not fall
// steadily with more noise, it can rise by a factor of 8 on the way, and below
// the result there may be islands of σ that are private too. What comes back is above
// the last σ that is not, so that rounding σ up is safe.
//
// The result is private by DiscreteGaussianDelta itself; it is at most 1e-13 above the σ
// described, and at least 0.001 also where less noise would do. Epsilon must be finite and
// at least 0, delta in [1e-300, 1), sensitivity in [1, 1e9], and a σ up to 1e9
// must do; else the error matches ErrInvalid.
func DiscreteGaussianSigma(epsilon, delta float64, sensitivity int) (float64, error) {
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	if err := validateDiscreteDelta(delta); err != nil {
		return 0, err
	}
	if err := validateSensitivity(sensitivity); err != nil {
		return 0, err
	}
	c := discreteCalibration{epsilon: epsilon, delta: delta, sensitivity: sensitivity}
	hi := min(max(c.enough(), minDiscreteSigma), maxDiscreteSigma)
	if value, _ := c.excess(hi); value > 0 {
		return 0, fmt.Errorf("%w: epsilon %v at delta %v and sensitivity %d takes a sigma above %v",
			ErrInvalid, epsilon, delta, sensitivity, maxDiscreteSigma)
	}
	lo := minDiscreteSigma
	if hi > c.lastBump() {
		lo = c.lastBump()
		if value, _ := c.excess(lo); value > 0 {
			return leastPrivate(c.excess, lo, hi)
		}
		hi = lo
	}
	return c.descend(hi)
}

type discreteCalibration struct {
	epsilon, delta float64
	sensitivity    int
}

// excess of a σ; the slope is not known.
func (c discreteCalibration) excess(sigma float64) (value, slope float64) {
	value, _ = newDiscreteProfile(sigma, c.sensitivity, c.epsilon).excess(c.delta)
	return value, math.NaN()
}

// enough is a σ from which on all are private. With Z the sum of exp(-y²/(2σ²)) over all
// integers, Z ≥ √(2π) σ by Poisson summation, and for m ≥ 1 a sum is below the
// integral on its left: Pr[Y ≥ m] ≤ Pr[N(0, σ²) ≥ m-1]. So δ ≤ Pr[Y > c] is within the
// target if c - 1 ≥ z σ, which with r = ε/s reads r σ² - s/2 - 1 ≥ z σ. Besides,
// δ ≤ Pr[-s/2 < Y ≤ s/2] ≤ s/(√(2π) σ).
func (c discreteCalibration) enough() float64 {
	s, z := float64(c.sensitivity), normalTailUpper(c.delta)
	enough := s * invSqrt2Pi / c.delta
	if r := c.epsilon / s; r > 0 {
		enough = min(enough, (z+math.Sqrt(z*z+4*r*(s/2+1)))/(2*r))
	}
	return enough * (1 + 64*ulp)
}

// lastBump is a σ from which on δ falls steadily. The bumps come from the single integers
// that the tail gains and loses as σ grows. They show where the tail falls steeply from one
// integer to the next, by exp(-ε/s) about: not for ε below s, and not for a large σ, at
// which a steep tail is far below 1e-300. The limits are observed, not proved, and on the
// safe side of what the tests scan.
func (c discreteCalibration) lastBump() float64 {
	if c.epsilon <= 0.6*float64(c.sensitivity) {
		return minDiscreteSigma
	}
	return 64
}

// descend goes down from hi, where all is private, to the last σ that is not. It looks
// at the pieces between the kinks of δ(σ), at which εσ²/s - s/2 is an integer: there a
// term of the sum reaches 0 and the next takes over. To the right of a kink δ(σ) rises to a
// single peak and falls, or only falls.
func (c discreteCalibration) descend(hi float64) (float64, error) {
	s := float64(c.sensitivity)
	r := c.epsilon / s
	for kink := math.Ceil(r*hi*hi - s/2); hi > minDiscreteSigma; {
		kink--
		lo := max(minDiscreteSigma, math.Sqrt(max(0, (kink+s/2)/r)))
		if lo >= hi { // hi was this kink, but for rounding
			continue
		}
		peak := c.peak(lo, hi)
		if value, _ := c.excess(peak); value > 0 {
			return leastPrivate(c.excess, peak, hi)
		}
		if value, _ := c.excess(lo); value > 0 {
			return leastPrivate(c.excess, lo, peak)
		}
		hi = lo
	}
	return minDiscreteSigma, nil
}

// peak is where δ(σ) has its maximum inside (lo, hi), by golden section. It may be next to
// lo.
func (c discreteCalibration) peak(lo, hi float64) float64 {
	const ratio = 0.6180339887498949
	delta := func(sigma float64) float64 { return newDiscreteProfile(sigma, c.sensitivity, c.epsilon).delta }
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := delta(a), delta(b)
	for range 40 { // to 1e-8 of the width: the maximum itself to 1e-16
		if fa > fb { // to the right where both underflow: zeros are to the left of the peak
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = delta(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = delta(b)
		}
	}
	return a
}
