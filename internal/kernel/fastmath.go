package kernel

import "math"

// The functions here are accurate to a few units in the last place, branch little
// and use float32 alone, so that the vector versions of package gen can follow
// them operation by operation.

// exp32 is exp(x), with the reduction x = n·ln 2 + r and the polynomial of expf in
// Moshier's Cephes library (single precision, release 2.2, 1992). It overflows to
// +Inf and underflows gradually to 0; NaN stays.
func exp32(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, -104), 89)
	const rounder = 3 << 22 // 1.5·2²³: adding and subtracting it rounds to an integer
	n := float32(x*math.Log2E+rounder) - rounder
	// ln 2 in two parts, of which n times the first is exact.
	r := x - n*0.693359375
	r -= n * -2.12194440e-4
	p := float32(1.9875691500e-4)
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	p = p*(r*r) + r + 1
	// 2ⁿ in two factors, since n may be beyond the range of an exponent.
	whole := int32(n)
	half := whole >> 1
	return p * powerOfTwo(half) * powerOfTwo(whole-half)
}

func portableExp(y, x []float32) {
	for i, v := range x {
		y[i] = exp32(v)
	}
}

// powerOfTwo is 2ⁿ for the exponents of normal numbers.
func powerOfTwo(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// tanhSplit is where tanh32 changes from the polynomial to the exponential.
const tanhSplit = 0.625

// tanh32 is tanh(x): near zero the polynomial of tanhf in Cephes, else
// 1 - 2/(exp(2|x|) + 1), which does not cancel there.
func tanh32(x float32) float32 {
	size := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	var y float32
	if size < tanhSplit {
		z := size * size
		p := float32(-5.70498872745e-3)
		p = p*z + 2.06390887954e-2
		p = p*z - 5.37397155531e-2
		p = p*z + 1.33314422036e-1
		p = p*z - 3.33332819422e-1
		y = p*z*size + size
	} else {
		y = 1 - 2/(exp32(size+size)+1)
	}
	return math.Float32frombits(math.Float32bits(y) | math.Float32bits(x)&(1<<31))
}

// sigmoid32 is 1/(1 + exp(-x)), by exp(-|x|) so that neither side overflows or
// cancels.
func sigmoid32(x float32) float32 {
	if x < 0 {
		e := exp32(x)
		return e / (1 + e)
	}
	return 1 / (1 + exp32(-x))
}
