package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elementwise writes the kernels that treat every element alike.
func elementwise() {
	each("tanh", "y = tanh(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return tanh(in[0]) })
	each("exp", "y = exp(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return exp(in[0]) })
	each("tanhGrad", "dx = (1-y²)·dy", []string{"y", "dy"}, nil, tanhGrad)
	each("sigmoid", "y = 1/(1+exp(-x))", []string{"x"}, nil, func(in []vec, _ vec) vec {
		positive, negative := sigmoids(in[0])
		return pick(in[0], positive, negative)
	})
	each("sigmoidGrad", "dx = y·(1-y)·dy", []string{"y", "dy"}, nil, sigmoidGrad)
	each("silu", "y = x·sigmoid(x)", []string{"x"}, nil, func(in []vec, _ vec) vec {
		positive, negative := sigmoids(in[0])
		return mul(in[0], pick(in[0], positive, negative))
	})
	each("siluGrad", "dx = s·(1+x·(1-s))·dy with s = sigmoid(x)", []string{"x", "dy"}, nil, siluGrad)
	each("relu", "y = max(x, 0)", []string{"x"}, nil, relu)
	each("reluGrad", "dx = dy where y > 0, else 0", []string{"y", "dy"}, nil, reluGrad)
	each("axpy", "y += alpha·x", []string{"y", "x"}, []string{"alpha"}, func(in []vec, alpha vec) vec {
		VFMADD231PS(alpha, in[1], in[0])
		return in[0]
	})
}

type vec = reg.VecVirtual

// each writes a function over n ≥ 1 elements, eight at a time and the last ones
// under a mask, so that an element's result does not depend on where it stands.
// The result goes to dst, which may be one of the inputs; the scalar, if there is
// one, is broadcast.
func each(name, formula string, inputs, scalars []string, body func(in []vec, scalar vec) vec) {
	name += "AVX2"
	signature := "func(n int, dst"
	for _, in := range inputs {
		signature += ", " + in
	}
	signature += " *float32"
	for _, s := range scalars {
		signature += ", " + s + " float32"
	}
	TEXT(name, NOSPLIT, signature+")")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes %s.", name, formula))
	n, dst, pointers := GP64(), GP64(), []reg.GPVirtual(nil)
	Load(Param("n"), n)
	Load(Param("dst"), dst)
	for _, in := range inputs {
		pointers = append(pointers, GP64())
		Load(Param(in), pointers[len(pointers)-1])
	}
	var scalar vec
	for _, s := range scalars {
		scalar = YMM()
		address, err := Param(s).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSS(address.Addr, scalar)
	}

	Label("loop")
	CMPQ(n, U8(8))
	JL(LabelRef("tail"))
	var in []vec
	for _, p := range pointers {
		in = append(in, YMM())
		VMOVUPS(Mem{Base: p}, in[len(in)-1])
		ADDQ(U8(32), p)
	}
	VMOVUPS(body(in, scalar), Mem{Base: dst})
	ADDQ(U8(32), dst)
	SUBQ(U8(8), n)
	JMP(LabelRef("loop"))

	Label("tail")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	rest := GP64()
	MOVQ(n, rest)
	mask := firstLanes(n)
	in = nil
	for _, p := range pointers {
		in = append(in, YMM())
		VMASKMOVPS(Mem{Base: p}, mask, in[len(in)-1])
	}
	storePieces(body(in, scalar), Mem{Base: dst}, rest)
	Label("done")
	VZEROUPPER()
	RET()
}

var constants = map[uint32]Mem{}

// constant is eight times the float32 with these bits, in memory.
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

// c is a constant by its value.
func c(v float64) Mem { return constant(math.Float32bits(float32(v))) }

func load(v float64) vec {
	y := YMM()
	VMOVUPS(c(v), y)
	return y
}

func mul(a, b Op) vec {
	y := YMM()
	VMULPS(a, b, y)
	return y
}

func tanhGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	slope := load(1)
	VFNMADD231PS(y, y, slope)
	return mul(slope, dy)
}

func sigmoidGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	slope := YMM()
	VMOVAPS(y, slope)
	VFNMADD231PS(y, y, slope) // y - y²
	return mul(slope, dy)
}

func siluGrad(in []vec, _ vec) vec {
	x, dy := in[0], in[1]
	larger, smaller := sigmoids(x)
	s, rest := pick(x, larger, smaller), pick(x, smaller, larger)
	slope := load(1)
	VFMADD231PS(x, rest, slope)
	return mul(mul(s, slope), dy)
}

// relu keeps a NaN: of two operands that do not compare, VMAXPS returns the
// second, which is the first one written here.
func relu(in []vec, _ vec) vec {
	zero, y := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VMAXPS(in[0], zero, y)
	return y
}

// reluGrad gives NaN where y is NaN.
func reluGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	zero, positive, unordered, dx := YMM(), YMM(), YMM(), YMM()
	VXORPS(zero, zero, zero)
	VCMPPS(U8(greaterThan), zero, y, positive)
	VANDPS(dy, positive, dx)
	VCMPPS(U8(notANumber), y, y, unordered)
	VBLENDVPS(unordered, y, dx, dx)
	return dx
}

// Predicates of VCMPPS that are false or true for a NaN without a signal.
const (
	lessThan    = 0x11 // LT_OQ
	notANumber  = 0x03 // UNORD_Q
	greaterThan = 0x1e // GT_OQ
)

// sigmoids returns 1/(1+e) and e/(1+e) with e = exp(-|x|): sigmoid(x) and
// sigmoid(-x) for x ≥ 0, the other way round for x < 0. Neither cancels.
func sigmoids(x vec) (larger, smaller vec) {
	minus := YMM()
	VORPS(constant(0x80000000), x, minus) // -|x|
	e := exp(minus)
	sum := YMM()
	VADDPS(c(1), e, sum)
	larger, smaller = YMM(), YMM()
	one := load(1)
	VDIVPS(sum, one, larger)
	VDIVPS(sum, e, smaller)
	return larger, smaller
}

// pick returns the elements of negative where the sign bit of x is set, else those
// of positive.
func pick(x, positive, negative vec) vec {
	y := YMM()
	VBLENDVPS(x, negative, positive, y)
	return y
}

// exp follows exp32 of the package, with fused multiply-adds.
func exp(x vec) vec {
	limited := YMM()
	VMAXPS(x, load(-104), limited) // a NaN passes, see relu
	VMINPS(limited, load(89), limited)
	n := mul(c(math.Log2E), limited)
	VROUNDPS(U8(0), n, n)
	r := limited
	VFNMADD231PS(c(0.693359375), n, r)
	VFNMADD231PS(c(-2.12194440e-4), n, r)
	p := polynomial(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := mul(r, r)
	VFMADD213PS(r, square, p) // p·r² + r
	VADDPS(c(1), p, p)

	// 2^n in two factors, since n may be beyond the range of an exponent.
	whole, half := YMM(), YMM()
	VCVTPS2DQ(n, whole)
	VPSRAD(U8(1), whole, half)
	VPSUBD(half, whole, whole)
	for _, e := range []vec{half, whole} {
		VPSLLD(U8(23), e, e)
		VPADDD(c(1), e, e) // the bits of 1 are those of the exponent's bias
		VMULPS(e, p, p)
	}
	return p
}

// polynomial evaluates a polynomial by Horner's rule, the highest power first.
func polynomial(x vec, coefficients ...float64) vec {
	p := load(coefficients[0])
	for _, a := range coefficients[1:] {
		VFMADD213PS(c(a), x, p)
	}
	return p
}

// tanh follows tanh32 of the package, with fused multiply-adds.
func tanh(x vec) vec {
	size := YMM()
	VANDPS(constant(0x7fffffff), x, size)
	twice := YMM()
	VADDPS(size, size, twice)
	sum := exp(twice)
	VADDPS(c(1), sum, sum)
	large := YMM()
	VDIVPS(sum, load(2), large)
	VSUBPS(large, load(1), large)

	square := mul(size, size)
	small := polynomial(square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	VMULPS(square, small, small)
	VFMADD213PS(size, size, small) // small·|x| + |x|

	isSmall, y, sign := YMM(), YMM(), YMM()
	VCMPPS(U8(lessThan), c(0.625), size, isSmall)
	VBLENDVPS(isSmall, small, large, y)
	VANDPS(constant(0x80000000), x, sign)
	VORPS(sign, y, y)
	return y
}
