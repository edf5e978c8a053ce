package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// split512 writes Split on vectors of eight.
func split512() {
	TEXT("splitAVX512", NOSPLIT, "func(blocks int, whole, rest *float64, x *int64, digits int, half int64, unit float64)")
	Pragma("noescape")
	Doc("splitAVX512 writes what is whole and what is left of 8·blocks fixed-point numbers.")
	blocks, whole, rest, x, digits, half := GP64(), GP64(), GP64(), GP64(), XMM(), ZMM()
	Load(Param("blocks"), blocks)
	Load(Param("whole"), whole)
	Load(Param("rest"), rest)
	Load(Param("x"), x)
	address, err := Param("digits").Resolve()
	if err != nil {
		panic(err)
	}
	VMOVQ(address.Addr, digits)
	if address, err = Param("half").Resolve(); err != nil {
		panic(err)
	}
	VPBROADCASTQ(address.Addr, half)
	unit := everywhere512("unit")
	Label("split")
	v, n, back := ZMM(), ZMM(), ZMM()
	VMOVDQU64(Mem{Base: x}, v)
	VPADDQ(half, v, n)
	VPSRAQ(digits, n, n)
	VPSLLQ(digits, n, back)
	VPSUBQ(back, v, v)
	VCVTQQ2PD(n, n)
	VMOVUPD(n, Mem{Base: whole})
	VCVTQQ2PD(v, v)
	VMULPD(unit, v, v)
	VMOVUPD(v, Mem{Base: rest})
	for _, p := range []reg.GPVirtual{x, whole, rest} {
		ADDQ(I32(64), p)
	}
	DECQ(blocks)
	JNZ(LabelRef("split"))
	VZEROUPPER()
	RET()
}

// noise512 writes the rounded normals on vectors of eight: the same operations in the same order as
// on four and in the portable twin, but for factors of powers of two. Conversions between integers
// and floats are instructions here.
func noise512() {
	split512()
	TEXT("addRoundedNormalsAVX512", NOSPLIT,
		"func(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)")
	Pragma("noescape")
	Doc("addRoundedNormalsAVX512 computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blocks values.")
	blocks, dst, sum, rest, words, doubts := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("sum"), sum)
	Load(Param("rest"), rest)
	Load(Param("words"), words)
	Load(Param("doubts"), doubts)
	deviation, certainty, spacing, zero := everywhere512("deviation"), everywhere512("certainty"), everywhere512("spacing"), ZMM()
	VPXORQ(zero, zero, zero)
	Label("loop")
	radii, outside := ZMM(), K()
	VMOVDQU64(Mem{Base: words}, radii)
	r := radius512(radii)
	VMULPD(deviation, r, r)
	x, y := directions512(Mem{Base: words, Disp: 64})
	VPADDQ_BCST(word(nearCentre), radii, radii)
	VPCMPUQ_BCST(U8(1), word(leastRadius+nearCentre), radii, outside) // less than
	for i, direction := range []reg.VecVirtual{x, y} {
		n := ZMM()
		VFMADD213PD(Mem{Base: rest, Disp: 64 * i}, r, direction)
		VRNDSCALEPD(U8(0), direction, n) // to nearest, ties to even
		VSUBPD(n, direction, direction)
		VADDPD(Mem{Base: sum, Disp: 64 * i}, n, n)
		VFMADD213PD(zero, spacing, n) // -0 + 0 is +0
		VMOVUPD(n, Mem{Base: dst, Disp: 64 * i})
	}
	doubt, mask := K(), GP32()
	VRANGEPD(U8(0b1011), x, y, x)      // the larger absolute value
	VCMPPD(U8(6), certainty, x, doubt) // not at most
	KORB(outside, doubt, doubt)
	KMOVB(doubt, mask)
	MOVB(mask.As8(), Mem{Base: doubts})
	for _, p := range []reg.GPVirtual{words, sum, rest, dst} {
		ADDQ(I32(128), p)
	}
	INCQ(doubts)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// radius512 returns sqrt(-2 ln u) of eight words. -2 ln u is computed as twice -ln u.
func radius512(words reg.VecVirtual) reg.VecVirtual {
	odd, f, exponent, g, k, small := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), K()
	VPORQ_BCST(word(1), words, odd)
	VPCMPUQ_BCST(U8(1), word(sqrtHalf), odd, small)
	VCVTQQ2PD(odd, g) // of 2^64·(u-1), for those that are not small
	VMULPD_BCST(float(0x1p-64), g, g)
	VCVTUQQ2PD(odd, f) // 2^64·u
	VPADDQ_BCST(word(biased), f, f)
	VPSRLQ(U8(52), f, exponent)
	VPANDQ_BCST(word(1<<52-1), f, f)
	VPADDQ_BCST(float(math.Sqrt2/2), f, f)
	VSUBPD_BCST(float(1), f, small, g)
	VPORQ_BCST(float(0x1p52), exponent, exponent)
	VBROADCASTSD(float(0x1p52+1023+64), k)
	VSUBPD_Z(exponent, k, small, k)

	gg, quotient, sum, z := ZMM(), ZMM(), ZMM(), ZMM()
	VADDPD_BCST(float(2), g, sum)
	VDIVPD(sum, g, quotient)
	VMULPD(g, g, gg)
	VMULPD(quotient, quotient, z)
	square, fourth := powers512(z)
	p := estrin512(z, square, fourth, twice(logarithm))
	VFMADD213PD(gg, z, p)
	VFNMADD213PD(gg, quotient, p)
	VFNMADD231PD_BCST(float(2), g, p)
	VFMADD231PD_BCST(float(2*math.Ln2), k, p)
	VSQRTPD(p, p)
	return p
}

// directions512 returns cos θ and sin θ of eight words.
func directions512(words Mem) (x, y reg.VecVirtual) {
	turned, t, z, cube := ZMM(), ZMM(), ZMM(), ZMM()
	VMOVDQU64(words, turned)
	VPSLLQ(U8(2), turned, t)                 // four times what is left of the nearest quarter turn
	VPADDQ_BCST(word(1<<61), turned, turned) // bits 62 and 63 are the quarter
	VCVTQQ2PD(t, t)
	VMULPD_BCST(float(2*math.Pi*0x1p-66), t, t)
	VMULPD(t, t, z)
	square, fourth := powers512(z)
	sin := estrin512(z, square, fourth, sine)
	VMULPD(z, t, cube)
	VFMADD213PD(t, cube, sin)
	low := ZMM()
	VBROADCASTSD(float(1), low)
	VFNMADD231PD_BCST(float(0.5), z, low)
	cos := estrin512(z, square, fourth, cosine)
	VFMADD213PD(low, square, cos)

	odd := K()
	VPTESTMQ_BCST(word(1<<62), turned, odd)
	x, y = ZMM(), ZMM()
	VBLENDMPD(sin, cos, odd, x)
	VBLENDMPD(cos, sin, odd, y)
	const flip = 0x78 // a^(b&c): the sign of a, where b has one
	VPTERNLOGQ_BCST(U8(flip), word(1<<63), turned, y)
	VPADDQ_BCST(word(1<<62), turned, turned)
	VPTERNLOGQ_BCST(U8(flip), word(1<<63), turned, x)
	return x, y
}

// twice returns the doubled coefficients of a polynomial.
func twice(c []float64) []float64 {
	doubled := make([]float64, len(c))
	for i, v := range c {
		doubled[i] = 2 * v
	}
	return doubled
}

// powers512 returns z² and z⁴.
func powers512(z reg.VecVirtual) (square, fourth reg.VecVirtual) {
	square, fourth = ZMM(), ZMM()
	VMULPD(z, z, square)
	VMULPD(square, square, fourth)
	return square, fourth
}

// estrin512 is estrin on vectors of eight.
func estrin512(z, square, fourth reg.VecVirtual, c []float64) reg.VecVirtual {
	pair := func(i int) reg.VecVirtual {
		p := ZMM()
		VBROADCASTSD(float(c[i+1]), p)
		VFMADD213PD_BCST(float(c[i]), z, p)
		return p
	}
	low, middle, high := pair(0), pair(2), pair(4)
	if len(c) == 7 {
		VFMADD231PD_BCST(float(c[6]), square, high)
	}
	VFMADD231PD(middle, square, low)
	VFMADD231PD(high, fourth, low)
	return low
}

var repeated = map[uint64]Mem{}

// word returns the place in memory of a 64-bit word, which an instruction repeats in all lanes.
func word(bits uint64) Mem {
	m, ok := repeated[bits]
	if !ok {
		m = GLOBL(fmt.Sprintf("word%016x", bits), RODATA|NOPTR)
		DATA(0, U64(bits))
		repeated[bits] = m
	}
	return m
}

func float(v float64) Mem { return word(math.Float64bits(v)) }

// everywhere512 returns a register with a float64 parameter in all eight lanes.
func everywhere512(parameter string) reg.VecVirtual {
	z := ZMM()
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(address.Addr, z)
	return z
}
