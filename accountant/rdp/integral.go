package rdp

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

const (
	// reach is the distance, in standard deviations, to which an integrand is followed beyond its
	// outermost Gaussians: φ(10)/φ(0) = 2e-22.
	reach = 10

	// integralTolerance is the difference between the logarithms of two sums, one
	// with half the step of the other, at which the finer one is accepted. The error
	// of the rules below falls at least to its square when the step is halved.
	integralTolerance = 1e-11

	// maxHalvings bounds how often the step is halved, and maxNodes the nodes of one integral. They
	// are reached for noise multipliers below about 0.002, where epsilon is in the hundreds of
	// thousands.
	maxHalvings = 8
	maxNodes    = 1 << 18
)

// logIntegral returns the logarithm of the integral of exp(f) over the real line, by the trapezoid
// rule. exp(f) has to be smooth on the scale of 1, such as a sum of Gaussians of standard deviation
// 1 with centres between left and right. The step h is halved until two sums agree: for a function
// that is analytic within b of the real line the error is about exp(-2πb/h) (Trefethen, Weideman
// 2014, Theorem 5.1). NaN if that takes more than maxNodes.
func logIntegral(f func(t float64) float64, left, right float64) float64 {
	left, right = math.Floor(left-reach), math.Ceil(right+reach)
	if !(right-left < maxNodes) {
		return math.NaN()
	}
	left, right = window(f, left, right)
	return refined(0.5, right-left, func(offset, step float64, add func(float64)) {
		for t := left + offset; t <= right; t += step {
			add(f(t))
		}
	})
}

// refined returns the logarithm of an integral by the trapezoid rule with the step h, halved until
// two sums agree. terms calls add with the logarithm of the integrand at offset, offset + step, …
// from the left end on. NaN if that takes too many nodes of the width.
func refined(h, width float64, terms func(offset, step float64, add func(x float64))) float64 {
	var sum numeric.LogSum
	terms(0, h, sum.Add)
	value := sum.Log() + math.Log(h)
	for range maxHalvings {
		terms(h/2, h, sum.Add)
		h /= 2
		finer := sum.Log() + math.Log(h)
		// They agree to the tolerance, or to about the last digits.
		if math.Abs(value-finer) <= integralTolerance+1e-14*math.Abs(finer) || value == finer {
			return finer
		}
		if width/h > maxNodes {
			break
		}
		value = finer
	}
	return math.NaN()
}

// window evaluates f, a logarithm, at left, left+1, …, right. It returns the ends of the part where
// f is within 60 of its maximum, 1 further out on each side: e^-60 is 1e-26.
func window(f func(t float64) float64, left, right float64) (first, last float64) {
	const negligible = 60
	values := make([]float64, 0, int(right-left)+1)
	most := math.Inf(-1)
	for t := left; t <= right; t++ {
		values = append(values, f(t))
		most = max(most, values[len(values)-1])
	}
	first, last = right, left
	for i, v := range values {
		if v > most-negligible {
			t := left + float64(i)
			first, last = min(first, t), max(last, t)
		}
	}
	return first - 1, last + 1
}

// logFiniteIntegral returns the logarithm of the integral of exp(f) over [a, b], by the
// double exponential rule (Takahasi, Mori 1974): the trapezoid rule after the
// substitution u = (a+b)/2 + (b-a)/2 tanh(π/2 sinh s), for an exp(f) that is smooth
// inside, with whatever peaks at the ends. NaN if it does not converge.
func logFiniteIntegral(f func(u float64) float64, a, b float64) float64 {
	const end = 4 // of s: the weights there are below 1e-30
	return refined(0.25, 2*end, func(offset, step float64, add func(x float64)) {
		for s := offset - end; s <= end; s += step {
			// 1 ∓ tanh x are 2/(e^(±2x)+1), so that u is exact at both ends.
			x := math.Pi / 2 * math.Sinh(s)
			u := a + (b-a)/(math.Exp(-2*x)+1)
			if x > 0 {
				u = b - (b-a)/(math.Exp(2*x)+1)
			}
			logWeight := math.Log((b-a)*math.Pi/4*math.Cosh(s)) - 2*logCosh(math.Abs(x))
			add(logWeight + f(u))
		}
	})
}

// logCosh returns log(cosh(x)) for x ≥ 0.
func logCosh(x float64) float64 { return x - math.Ln2 + math.Log1p(math.Exp(-2*x)) }
