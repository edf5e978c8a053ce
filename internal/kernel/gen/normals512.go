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

// noise512 writes the rounded normals on vectors of eight: those of two blocks of eight values, the
// same operations in the same order as on four and in the portable twin. Conversions between
// integers and floats are instructions here.
func noise512() {
	split512()
	TEXT("addRoundedNormalsAVX512", NOSPLIT,
		"func(blockPairs int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)")
	Pragma("noescape")
	Doc("addRoundedNormalsAVX512 computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blockPairs values.")
	pairs, dst, sum, rest, words, doubts := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("blockPairs"), pairs)
	Load(Param("dst"), dst)
	Load(Param("sum"), sum)
	Load(Param("rest"), rest)
	Load(Param("words"), words)
	Load(Param("doubts"), doubts)
	deviation, certainty, spacing, zero := everywhere512("deviation"), everywhere512("certainty"), everywhere512("spacing"), ZMM()
	VPXORQ(zero, zero, zero)
	Label("loop")
	radii := halves(Mem{Base: words})
	r := radius512(radii)
	x, y := directions512(halves(Mem{Base: words, Disp: 32}))
	outside := K()
	VPADDQ_BCST(word(nearCentre), radii, radii)
	VPCMPUQ_BCST(U8(1), word(leastRadius+nearCentre), radii, outside) // less than
	masks := [2]reg.GPVirtual{GP32(), GP32()}
	for i, direction := range []reg.VecVirtual{x, y} {
		normal, n, doubt := direction, ZMM(), K()
		VMULPD(r, direction, normal)
		VFMADD213PD(halves(Mem{Base: rest, Disp: 32 * i}), deviation, normal)
		VRNDSCALEPD(U8(0), normal, n) // to nearest, ties to even
		VSUBPD(n, normal, normal)
		VPANDQ_BCST(word(1<<63-1), normal, normal)
		VCMPPD(U8(6), certainty, normal, doubt) // not at most
		KORB(outside, doubt, doubt)
		KMOVB(doubt, masks[i])
		VADDPD(halves(Mem{Base: sum, Disp: 32 * i}), n, n)
		VFMADD213PD(zero, spacing, n) // -0 + 0 is +0
		VMOVUPD(n.AsY(), Mem{Base: dst, Disp: 32 * i})
		VEXTRACTF64X4(U8(1), n, Mem{Base: dst, Disp: 32*i + 64})
	}
	storeDoubts(masks[0], masks[1], Mem{Base: doubts})
	for _, p := range []reg.GPVirtual{words, sum, rest, dst} {
		ADDQ(I32(128), p)
	}
	ADDQ(U8(2), doubts)
	DECQ(pairs)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// halves loads four values from m and the four that are eight further.
func halves(m Mem) reg.VecVirtual {
	z := ZMM()
	VMOVDQU(m, z.AsY())
	VINSERTI64X4(U8(1), m.Offset(64), z, z)
	return z
}

// storeDoubts writes two bytes, the low halves of the masks x and y and then the high ones.
func storeDoubts(x, y reg.GPVirtual, to Mem) {
	for _, mask := range []reg.GPVirtual{x, y} { // to the low halves of two bytes
		shifted := GP32()
		MOVL(mask, shifted)
		SHLL(U8(4), shifted)
		ORL(shifted, mask)
		ANDL(U32(0x0f0f), mask)
	}
	SHLL(U8(4), y)
	ORL(y, x)
	MOVW(x.As16(), to)
}

// radius512 returns sqrt(-2 ln u) of the words.
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

	half, quotient, sum, z := ZMM(), ZMM(), ZMM(), ZMM()
	VADDPD_BCST(float(2), g, sum)
	VDIVPD(sum, g, quotient)
	VMULPD_BCST(float(0.5), g, half)
	VMULPD(g, half, half)
	VMULPD(quotient, quotient, z)
	square, fourth := powers512(z)
	p := estrin512(z, square, fourth, logarithm)
	VFMADD213PD(half, z, p)
	VFNMADD213PD(half, quotient, p)
	VSUBPD(g, p, p)
	VFMADD231PD_BCST(float(math.Ln2), k, p)
	VADDPD(p, p, p)
	VSQRTPD(p, p)
	return p
}

// directions512 returns cos θ and sin θ of the words.
func directions512(words reg.VecVirtual) (x, y reg.VecVirtual) {
	turned, t, z, cube := words, ZMM(), ZMM(), ZMM()
	VPADDQ_BCST(word(1<<61), words, turned) // bits 62 and 63 are the quarter
	VPANDQ_BCST(word(1<<62-1), turned, t)
	VPSUBQ_BCST(word(1<<61), t, t)
	VCVTQQ2PD(t, t)
	VMULPD_BCST(float(2*math.Pi*0x1p-64), t, t)
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

	odd, sign := K(), ZMM()
	VPTESTMQ_BCST(word(1<<62), turned, odd)
	x, y = ZMM(), ZMM()
	VBLENDMPD(sin, cos, odd, x)
	VBLENDMPD(cos, sin, odd, y)
	VPANDQ_BCST(word(1<<63), turned, sign)
	VPXORQ(sign, y, y)
	VPADDQ_BCST(word(1<<62), turned, turned)
	VPANDQ_BCST(word(1<<63), turned, sign)
	VPXORQ(sign, x, x)
	return x, y
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

// word is a 64-bit word in memory, which an instruction repeats in all lanes.
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

// everywhere512 loads a float64 parameter into all eight lanes.
func everywhere512(parameter string) reg.VecVirtual {
	z := ZMM()
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(address.Addr, z)
	return z
}
