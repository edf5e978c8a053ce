package kernel

import "math"

// The functions here are accurate to a few units in the last place, branch little and use float32
// alone, so that the vector versions of package gen can follow them operation by operation.

// rounder is 1.5·2²³: adding and subtracting it rounds to an integer.
const rounder = 3 << 22

// exp32 returns exp(x). It overflows to +Inf and underflows gradually to 0; NaN stays.
func exp32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, -104), 89)
	n := float32(x*math.Log2E+rounder) - rounder
	return scale32(expReduced32(x, n, 0), n)
}

// expReduced32 returns exp(x + rest)/2ⁿ for the integer n next to x·log₂ e and a rest
// below the precision of x: the reduction x = n·ln 2 + r and the polynomial of expf
// in Moshier's Cephes library (single precision, release 2.2, 1992).
func expReduced32(x, n, rest float32) float32 {
	// ln 2 in two parts, of which n times the first is exact.
	r := x - n*0.693359375
	r -= n * -2.12194440e-4
	r += rest
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	return p*(r*r) + r + 1
}

// scale32 returns p·2ⁿ, in two factors since n may be beyond the range of an exponent.
func scale32(p, n float32) float32 {
	whole := int32(n)
	half := whole >> 1
	return p * powerOfTwo(half) * powerOfTwo(whole-half)
}

// powerOfTwo returns 2ⁿ for the exponents of normal numbers.
func powerOfTwo(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// tanh32 returns tanh(x), by a rational function of x² times x. Its coefficients were
// fitted for this package by reweighted least squares and rounded to float32; they
// are all positive, so that no sum cancels, and off by at most 2^-24.5 in exact
// arithmetic for |x| up to 9.02, from where on tanh is 1 in float32. At 9.5 the
// function is beyond 1 by six units in the last place, which the last line cuts.
func tanh32(x float32) float32 {
	x = min(max(x, -9.5), 9.5)
	z := x * x
	p := float32(1.331881627e-8)
	p = p*z + 2.058333303e-5
	p = p*z + 3.494024742e-3
	p = p*z + 1.337970942e-1
	q := float32(7.761944971e-7)
	q = q*z + 3.283076221e-4
	q = q*z + 2.587103844e-2
	q = q*z + 4.671302438e-1
	q = q*z + 1
	return min(max((p*(z*x)+x)/q, -1), 1)
}

// sigmoid32 returns 1/(1 + exp(-x)), by exp(-|x|) so that neither side overflows or cancels.
func sigmoid32(x float32) float32 {
	if x < 0 {
		e := exp32(x)
		return e / (1 + e)
	}
	return 1 / (1 + exp32(-x))
}

func silu32(x float32) float32 { return x * sigmoid32(x) }

// siluSlope32 returns the derivative of SiLU; 1 - sigmoid(x) would cancel for large x.
func siluSlope32(x float32) float32 { return sigmoid32(x) * (1 + x*sigmoid32(-x)) }

// gelu32 returns x·Φ(x), as max(x, 0) - |x|·Φ(-|x|): nothing cancels for x < 0, and
// for x > 0 the second term is at most half of the first.
func gelu32(x float32) float32 {
	switch {
	case x != x:
		return x
	case x < -math.MaxFloat32:
		return float32(math.NaN())
	}
	t, p, n, above, below := normalTail32(x)
	return max(x, math.Float32frombits(1<<31)) - scale32(p*above*t/below, n)
}

// geluSlope32 returns Φ(x) + x·φ(x), by the tail Φ(-t) - t·φ(t) for t = |x|.
func geluSlope32(x float32) float32 {
	if x != x {
		return x
	}
	t, p, n, above, below := normalTail32(x)
	const density = 1 / (math.Sqrt2 * math.SqrtPi)
	tail := scale32(p*(above/below-t*density), n)
	if x < 0 {
		return tail
	}
	return 1 - tail
}

// normalTail32 returns t = |x| and the parts of exp(-t²/2) = p·2ⁿ and of the normal tail Φ(-t) =
// exp(-t²/2)·above/below. The fraction, off by at most 2^-26.5 in exact arithmetic, is fitted like
// tanh32, on [0, 14.6]. Beyond that, where t is cut, t·Φ(-t) is 0 in float32.
func normalTail32(x float32) (t, p, n, above, below float32) {
	t = min(math.Float32frombits(math.Float32bits(x)&^(1<<31)), 14.6)
	// The rounding error of t² would be an error of exp a hundred times as large.
	exact := float64(t) * float64(t)
	square := float32(exact)
	rest := float32(exact - float64(square))
	n = float32(square*(-0.5*math.Log2E)+rounder) - rounder
	p = expReduced32(-0.5*square, n, -0.5*rest)
	above = 4.123785067e-3
	above = above*t + 4.068353400e-2
	above = above*t + 1.833843291e-1
	above = above*t + 4.384961128e-1
	above = above*t + 0.5
	below = 1.033667848e-2
	below = below*t + 1.019848734e-1
	below = below*t + 4.698644876e-1
	below = below*t + 1.203122497
	below = below*t + 1.674877167
	below = below*t + 1
	return t, p, n, above, below
}
