package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

var constants = map[uint32]Mem{}

// constant returns the place in memory of eight times the float32 with these bits.
func constant(bits uint32) Mem {
	m, ok := constants[bits]
	if !ok {
		m = GLOBL(fmt.Sprintf("eight%08x", bits), RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(bits))
		}
		constants[bits] = m
	}
	return m
}

const (
	signBit  = 0x80000000 // also the bits of -0
	sizeBits = 0x7fffffff
)

// c is eight times a value, rounded to float32, in memory.
func c(v float64) Mem { return constant(math.Float32bits(float32(v))) }

func load(v float64) vec {
	y := YMM()
	VMOVUPS(c(v), y)
	return y
}

func add(a, b Op) vec {
	y := YMM()
	VADDPS(a, b, y)
	return y
}

func mul(a, b Op) vec {
	y := YMM()
	VMULPS(a, b, y)
	return y
}

// clamp returns min(max(x, low), high), and NaN for NaN: of two operands that do
// not compare, VMAXPS and VMINPS return the second, the first one written here.
func clamp(x vec, low, high float64) vec {
	y := YMM()
	VMAXPS(x, load(low), y)
	VMINPS(y, load(high), y)
	return y
}

// polynomial evaluates a polynomial by Horner's rule, the highest power first.
func polynomial(x vec, coefficients ...float64) vec {
	p := load(coefficients[0])
	for _, a := range coefficients[1:] {
		VFMADD213PS(c(a), x, p)
	}
	return p
}

// exp follows exp32 of the package, with fused multiply-adds.
func exp(x vec) vec {
	x = clamp(x, -104, 89)
	n := mul(c(math.Log2E), x)
	VROUNDPS(U8(0), n, n)
	p := expReduced(x, n, nil)
	scale(p, n)
	return p
}

// expReduced returns exp(x + rest)/2^n for the integer n next to x·log₂ e. It changes x.
func expReduced(x, n, rest vec) vec {
	r := x
	VFNMADD231PS(c(0.693359375), n, r)
	VFNMADD231PS(c(-2.12194440e-4), n, r)
	if rest != nil {
		VADDPS(rest, r, r)
	}
	p := polynomial(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := mul(r, r)
	VFMADD213PS(r, square, p) // p·r² + r
	VADDPS(c(1), p, p)
	return p
}

// scale multiplies p by 2^n, in two factors since n may be beyond the range of an exponent.
func scale(p, n vec) {
	whole, half := YMM(), YMM()
	VCVTPS2DQ(n, whole)
	VPSRAD(U8(1), whole, half)
	VPSUBD(half, whole, whole)
	for _, e := range []vec{half, whole} {
		VPSLLD(U8(23), e, e)
		VPADDD(c(1), e, e) // the bits of 1 are those of the exponent's bias
		VMULPS(e, p, p)
	}
}

// tanh follows tanh32 of the package, with fused multiply-adds.
func tanh(x vec) vec {
	x = clamp(x, -9.5, 9.5)
	square := mul(x, x)
	cube := mul(x, square)
	p := polynomial(square, 1.331881627e-8, 2.058333303e-5, 3.494024742e-3, 1.337970942e-1)
	VFMADD213PS(x, cube, p) // p·x³ + x
	q := polynomial(square, 7.761944971e-7, 3.283076221e-4, 2.587103844e-2, 4.671302438e-1, 1)
	VDIVPS(q, p, p)
	return clamp(p, -1, 1)
}

// sigmoid returns e/(1+e) with e = exp(-|x|) for x < 0 and 1/(1+e) for x ≥ 0, which do not cancel.
func sigmoid(x vec) vec {
	e, sum := smallExp(x)
	y := YMM()
	VBLENDVPS(x, e, load(1), y)
	VDIVPS(sum, y, y)
	return y
}

// sigmoids returns sigmoid(x) and sigmoid(-x) without cancelling.
func sigmoids(x vec) (s, rest vec) {
	e, sum := smallExp(x)
	larger, smaller := YMM(), YMM()
	VDIVPS(sum, load(1), larger)
	VMULPS(larger, e, smaller)
	s, rest = YMM(), YMM()
	VBLENDVPS(x, smaller, larger, s)
	VBLENDVPS(x, larger, smaller, rest)
	return s, rest
}

// smallExp returns e = exp(-|x|) and 1 + e.
func smallExp(x vec) (e, sum vec) {
	minus := YMM()
	VORPS(constant(signBit), x, minus)
	e = exp(minus)
	return e, add(c(1), e)
}

// gelu follows gelu32 of the package.
func gelu(x vec) vec {
	t, p, n, above, below := normalTail(x)
	VMULPS(above, p, p)
	VMULPS(t, p, p)
	VDIVPS(below, p, p)
	scale(p, n)
	y := YMM()
	VMOVUPS(constant(signBit), y)
	VMAXPS(x, y, y)
	VSUBPS(p, y, y)
	// Of all negative x, zero times -Inf alone changes the result.
	zero, negative := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VMINPS(x, zero, negative)
	VFMADD231PS(negative, zero, y)
	return y
}

// geluGrad follows geluSlope32 of the package.
func geluGrad(in []vec, _ vec) vec {
	x, dy := in[0], in[1]
	t, p, n, above, below := normalTail(x)
	VDIVPS(below, above, above)
	VFNMADD231PS(c(1/math.Sqrt(2*math.Pi)), t, above)
	VMULPS(above, p, p)
	scale(p, n)
	slope := load(1)
	VSUBPS(p, slope, slope)
	VBLENDVPS(x, p, slope, slope)
	return mul(slope, dy)
}

// normalTail follows normalTail32 of the package.
func normalTail(x vec) (t, p, n, above, below vec) {
	t = YMM()
	VANDPS(constant(sizeBits), x, t)
	VMINPS(t, load(14.6), t)
	square, rest := mul(t, t), YMM()
	VMOVAPS(t, rest)
	VFMSUB213PS(square, t, rest) // t² - square
	VMULPS(c(-0.5), rest, rest)
	n = mul(c(-0.5*math.Log2E), square)
	VROUNDPS(U8(0), n, n)
	VMULPS(c(-0.5), square, square)
	p = expReduced(square, n, rest)
	above = polynomial(t, 4.123785067e-3, 4.068353400e-2, 1.833843291e-1, 4.384961128e-1, 0.5)
	below = polynomial(t, 1.033667848e-2, 1.019848734e-1, 4.698644876e-1, 1.203122497, 1.674877167, 1)
	return t, p, n, above, below
}
