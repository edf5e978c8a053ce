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
// and floats are instructions here. The steps of a block wait for each other for longer than a
// processor looks ahead: so each round of the loop does a step of four successive blocks, on values
// that the round before has left in registers.
func noise512() {
	split512()
	TEXT("addRoundedNormalsAVX512", NOSPLIT,
		"func(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)")
	Pragma("noescape")
	Doc("addRoundedNormalsAVX512 computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blocks values.")
	n := normals512{dst: GP64(), sum: GP64(), rest: GP64(), words: GP64(), doubts: GP64(), last: GP64(), radii: GP64(), angles: GP64(),
		g: ZMM(), k: ZMM(), quotient: ZMM(), exponential: ZMM(), radius: ZMM(), turned: ZMM(), sin: ZMM(), cos: ZMM()}
	blocks := GP64()
	Load(Param("blocks"), blocks)
	for i, p := range []reg.GPVirtual{n.dst, n.sum, n.rest, n.words, n.doubts} {
		Load(ParamIndex(1+i), p)
	}
	MOVQ(blocks, n.last)
	SHLQ(U8(7), n.last)
	LEAQ(Mem{Base: n.words, Index: n.last, Scale: 1, Disp: -128}, n.last)
	MOVQ(n.words, n.radii)
	MOVQ(n.words, n.angles)
	n.spacing = everywhere512("spacing")
	n.divide()
	n.logarithm()
	n.divide()
	n.root()
	n.logarithm()
	n.divide()
	n.turn()
	Label("loop")
	n.round()
	n.root()
	n.logarithm()
	n.divide()
	n.turn()
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// normals512 holds the registers of noise512: places in memory, and what one step leaves to the next.
type normals512 struct {
	dst, sum, rest, words, doubts reg.GPVirtual
	last, radii, angles           reg.GPVirtual // the last block of words, and those of steps that are ahead
	spacing                       vec

	g, k, quotient, exponential, radius vec // k is that of the package, negated; exponential is twice -ln u
	turned, sin, cos                    vec // sine and cosine but for the quarter of the turn
}

// advance moves a pointer to the next block of words, unless it is at the last.
func (n normals512) advance(p reg.GPVirtual) {
	ADDQ(U32(128), p)
	CMPQ(p, n.last)
	CMOVQHI(n.last, p)
}

// divide begins the logarithms of radii, up to their divisions.
func (n normals512) divide() {
	odd, f, small := ZMM(), ZMM(), K()
	VPBROADCASTQ(word(1), odd)
	VPORQ(Mem{Base: n.radii}, odd, odd)
	n.advance(n.radii)
	VPCMPUQ_BCST(U8(1), word(sqrtHalf), odd, small)
	VCVTQQ2PD(odd, n.g) // of 2^64·(u-1), for those that are not small
	VMULPD_BCST(float(0x1p-64), n.g, n.g)
	VCVTUQQ2PD(odd, f) // 2^64·u
	VPADDQ_BCST(word(1<<64-64<<52+biased), f, f)
	VGETEXPPD_Z(f, small, n.k)
	VPANDQ_BCST(word(1<<52-1), f, f)
	VPADDQ_BCST(float(math.Sqrt2/2), f, f)
	VSUBPD_BCST(float(1), f, small, n.g)
	VADDPD_BCST(float(2), n.g, f)
	VDIVPD(f, n.g, n.quotient)
}

// logarithm ends them.
func (n normals512) logarithm() {
	z, gg := ZMM(), ZMM()
	VMULPD(n.quotient, n.quotient, z)
	square, fourth := powers512(z)
	p := estrin512(z, square, fourth, twice(logarithm))
	VMULPD(n.g, n.g, gg)
	VFMADD213PD(gg, z, p)
	VFNMADD213PD(gg, n.quotient, p)
	VFNMADD231PD_BCST(float(2), n.g, p)
	VFNMADD231PD_BCST(float(2*math.Ln2), n.k, p)
	VMOVAPD(p, n.exponential)
}

func (n normals512) root() { VSQRTPD(n.exponential, n.radius) }

// turn computes sines and cosines of angles.
func (n normals512) turn() {
	t, z := ZMM(), ZMM()
	VMOVDQU64(Mem{Base: n.angles, Disp: 64}, n.turned)
	n.advance(n.angles)
	VPSLLQ(U8(2), n.turned, t)                   // four times what is left of the nearest quarter turn
	VPADDQ_BCST(word(1<<61), n.turned, n.turned) // bits 62 and 63 are the quarter
	VCVTQQ2PD(t, t)
	VMULPD_BCST(float(2*math.Pi*0x1p-66), t, t)
	VMULPD(t, t, z)
	square, fourth := powers512(z)
	sin, cos := estrin512(z, square, fourth, sine), estrin512(z, square, fourth, cosine)
	VBROADCASTSD(float(1), n.cos)
	VFNMADD231PD_BCST(float(0.5), z, n.cos)
	VFMADD231PD(cos, square, n.cos)
	VMULPD(z, t, z)
	VFMADD231PD(sin, z, t)
	VMOVAPD(t, n.sin)
}

// round turns the directions, multiplies and rounds.
func (n normals512) round() {
	x, y, odd := ZMM(), ZMM(), K()
	VPTESTMQ_BCST(word(1<<62), n.turned, odd)
	VBLENDMPD(n.sin, n.cos, odd, x)
	VBLENDMPD(n.cos, n.sin, odd, y)
	const flip = 0x78 // a^(b&c): the sign of a, where b has one
	VPTERNLOGQ_BCST(U8(flip), word(1<<63), n.turned, y)
	VPADDQ_BCST(word(1<<62), n.turned, n.turned)
	VPTERNLOGQ_BCST(U8(flip), word(1<<63), n.turned, x)

	r, w, inside, certain, mask := ZMM(), ZMM(), K(), K(), GP32()
	VMULPD_BCST(argument("deviation"), n.radius, r)
	VPBROADCASTQ(word(nearCentre), w)
	VPADDQ(Mem{Base: n.words}, w, w)
	VPCMPUQ_BCST(U8(5), word(leastRadius+nearCentre), w, inside) // not less
	for i, direction := range []vec{x, y} {
		whole := ZMM()
		VFMADD213PD(Mem{Base: n.rest, Disp: 64 * i}, r, direction)
		VMOVAPD(direction, whole)
		VREDUCEPD(U8(0), direction, direction) // less the nearest integer, of two the even one
		VSUBPD(direction, whole, whole)
		VADDPD(Mem{Base: n.sum, Disp: 64 * i}, whole, whole)
		VFMADD213PD_BCST(float(0), n.spacing, whole) // -0 + 0 is +0
		VMOVUPD(whole, Mem{Base: n.dst, Disp: 64 * i})
	}
	VRANGEPD(U8(0b1011), x, y, x)                                 // the larger absolute value
	VCMPPD_BCST(U8(2), argument("certainty"), x, inside, certain) // at most
	KMOVB(certain, mask)
	NOTL(mask)
	MOVB(mask.As8(), Mem{Base: n.doubts})
	for _, p := range []reg.GPVirtual{n.dst, n.sum, n.rest, n.words} {
		ADDQ(U32(128), p)
	}
	INCQ(n.doubts)
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
func powers512(z vec) (square, fourth vec) {
	square, fourth = ZMM(), ZMM()
	VMULPD(z, z, square)
	VMULPD(square, square, fourth)
	return square, fourth
}

// estrin512 is estrin on vectors of eight.
func estrin512(z, square, fourth vec, c []float64) vec {
	pair := func(i int) vec {
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
	VBROADCASTSD(argument(parameter), z)
	return z
}

// argument returns the place in memory of a parameter.
func argument(parameter string) Mem {
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	return address.Addr
}
