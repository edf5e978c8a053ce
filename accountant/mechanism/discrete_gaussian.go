package mechanism

import (
	"fmt"
	"math"
)

// discreteSlack bounds the relative error of a δ of discrete noise.
const discreteSlack = 16 * ulp

// The ranges that the discrete Gaussian is computed for: below, and with integers
// that a float64 holds.
const (
	minDiscreteSigma = 1e-3
	maxDiscreteSigma = 1e9
	maxSensitivity   = 1_000_000_000
)

// DiscreteGaussianDelta returns the smallest δ for which one release of an integer
// with discrete Gaussian noise, Pr[Y = y] ∝ exp(-y²/(2σ²)) over the integers, is
// (epsilon, δ)-differentially private for changes of up to sensitivity. Theorem 7 of
// Canonne, Kamath, Steinke 2020 (arXiv:2004.00010) says that with s the sensitivity it is
//
//	δ = Pr[Y > εσ²/s - s/2] - exp(ε) Pr[Y > εσ²/s + s/2].
//
// Sigma is the parameter σ itself, not a multiple of the sensitivity; the standard
// deviation is a little less. The result lies between δ and δ·(1 + 1e-14), is at most 1 and
// never 0. Sigma must be in [1e-3, 1e9], sensitivity in [1, 1e9], and epsilon finite and at
// least 0; else the error matches ErrInvalid.
func DiscreteGaussianDelta(sigma float64, sensitivity int, epsilon float64) (float64, error) {
	if err := validateDiscrete(sigma, sensitivity); err != nil {
		return 0, err
	}
	if err := validateEpsilon(epsilon); err != nil {
		return 0, err
	}
	return min(1, max(tinyFloat, newDiscreteProfile(sigma, sensitivity, epsilon).upper())), nil
}

// DiscreteGaussianEpsilon returns the smallest ε ≥ 0 for which one release as in
// DiscreteGaussianDelta is (ε, delta)-differentially private, the inverse of that function.
// The result is never below the true ε(δ), and at most ε(δ·(1 - 1e-14))·(1 + 1e-14). Delta
// must be in [1e-300, 1), sigma and sensitivity as there; else the error matches
// ErrInvalid.
func DiscreteGaussianEpsilon(sigma float64, sensitivity int, delta float64) (float64, error) {
	if err := validateDiscrete(sigma, sensitivity); err != nil {
		return 0, err
	}
	if err := validateDiscreteDelta(delta); err != nil {
		return 0, err
	}
	excess := func(epsilon float64) (float64, float64) {
		p := newDiscreteProfile(sigma, sensitivity, epsilon)
		return p.excess(delta)
	}
	if f, _ := excess(0); f <= 0 {
		return 0, nil
	}
	// The tails are close to those of the Gaussian.
	ratio := float64(sensitivity) / sigma
	return leastPrivate(excess, 0, ratio*(normalTailUpper(delta)+ratio/2))
}

func validateDiscrete(sigma float64, sensitivity int) error {
	if !(sigma >= minDiscreteSigma && sigma <= maxDiscreteSigma) {
		return fmt.Errorf("%w: sigma is %v, must be in [%v, %v]", ErrInvalid, sigma, minDiscreteSigma, maxDiscreteSigma)
	}
	return validateSensitivity(sensitivity)
}

func validateSensitivity(sensitivity int) error {
	if sensitivity < 1 || sensitivity > maxSensitivity {
		return fmt.Errorf("%w: sensitivity is %d, must be in [1, %d]", ErrInvalid, sensitivity, maxSensitivity)
	}
	return nil
}

func validateDiscreteDelta(delta float64) error {
	if !(delta >= 1e-300 && delta < 1) {
		return fmt.Errorf("%w: delta is %v, must be in [1e-300, 1)", ErrInvalid, delta)
	}
	return nil
}

// discreteProfile is δ(ε) of one discrete Gaussian release.
type discreteProfile struct {
	delta  float64 // without any rounding up
	second float64 // exp(ε) Pr[Y > εσ²/s + s/2] = -dδ/dε
}

// newDiscreteProfile sums over the integers beyond c = εσ²/s - s/2. The first of them
// is y, and e^ε Pr[Y = z+s] = Pr[Y = z] exp(-s (z-c)/σ²), so
//
//	Z·δ = Σ_{z ≥ y} exp(-z²/(2σ²)) (1 - exp(-s (z-c)/σ²)),
//
// in which nothing is negative and exp(ε) has gone. With h = 1/σ, u = (z-y) h, x = y h
// and the factor exp(-x²/2) in front, the summand is that of millsDecrement. Where y is
// below -σ the sum is nearly Z; the two probabilities are computed apart there.
func newDiscreteProfile(sigma float64, sensitivity int, epsilon float64) discreteProfile {
	s, variance := float64(sensitivity), product(sigma, sigma)
	c := dd{epsilon, 0}.mul(variance).div(dd{s, 0}).sub(dd{s / 2, 0})
	if !(c.hi < 1<<53) { // y > 1e15 is 1e6 σ or more: exp(-5e11)
		return discreteProfile{}
	}
	y := c.floor().add(dd{1, 0})
	theta := y.sub(c).mul(dd{s, 0}).div(variance).value() // of the first term
	h, total := 1/sigma, latticeSum(sigma)
	x, d := y.hi*h, s*h
	front := latticeWeight(sigma, y.hi)
	// The second sum starts at y + s > s/2, so never to the left of 0. The weight of
	// that integer times exp(ε) is front·exp(-theta).
	p := discreteProfile{second: front * math.Exp(-theta) * (tailSum(x+d, h) / total)}
	switch {
	case y.hi < -sigma: // Pr[Y ≥ y] = 1 - Pr[Y ≥ 1-y]
		rest := latticeWeight(sigma, 1-y.hi) * (tailSum((1-y.hi)*h, h) / total)
		p.delta = 1 - rest - p.second
	case d > 2*max(1, x): // the second sum is less than half of the first, or theta is large
		p.delta = front*(tailSum(x, h)/total) - p.second
	default:
		p.delta = front * (tailDecrement(x, d, theta, h) / total)
	}
	return p
}

// upper is δ rounded up.
func (p discreteProfile) upper() float64 { return roundUp(p.delta*(1+discreteSlack), 1) }

// excess is log(δ'/target) for δ' rounded up, and its slope.
func (p discreteProfile) excess(target float64) (value, slope float64) {
	if p.delta == 0 {
		return math.Inf(-1), 0
	}
	return logRatio(p.upper(), target), -p.second / p.delta
}
