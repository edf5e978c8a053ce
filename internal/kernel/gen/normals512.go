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
// and floats are instructions here. The steps of a block wait for each other, and a processor looks
// ahead by about as many instructions as a block has: so two blocks are made together, and angles
// are worked on while divisions and roots take their time.
func noise512() {
	split512()
	TEXT("addRoundedNormalsAVX512", NOSPLIT,
		"func(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)")
	Pragma("noescape")
	Doc("addRoundedNormalsAVX512 computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blocks values.")
	blocks, at := GP64(), map[string]reg.GPVirtual{}
	Load(Param("blocks"), blocks)
	for _, name := range []string{"dst", "sum", "rest", "words", "doubts"} {
		at[name] = GP64()
		Load(Param(name), at[name])
	}
	spacing := everywhere512("spacing")
	round := func(n int) {
		radii := startRadii512(at["words"], n)
		directions := startDirections512(at["words"], n)
		r := radii.finish()
		x, y := directions.finish()
		for i := range n {
			w, outside, doubt, mask := ZMM(), K(), K(), GP32()
			VMULPD_BCST(argument("deviation"), r[i], r[i])
			VPBROADCASTQ(word(nearCentre), w)
			VPADDQ(Mem{Base: at["words"], Disp: 128 * i}, w, w)
			VPCMPUQ_BCST(U8(1), word(leastRadius+nearCentre), w, outside) // less than
			for j, direction := range []vec{x[i], y[i]} {
				whole, from := ZMM(), 128*i+64*j
				VFMADD213PD(Mem{Base: at["rest"], Disp: from}, r[i], direction)
				VRNDSCALEPD(U8(0), direction, whole) // to nearest, ties to even
				VSUBPD(whole, direction, direction)
				VADDPD(Mem{Base: at["sum"], Disp: from}, whole, whole)
				VFMADD213PD_BCST(float(0), spacing, whole) // -0 + 0 is +0
				VMOVUPD(whole, Mem{Base: at["dst"], Disp: from})
			}
			VRANGEPD(U8(0b1011), x[i], y[i], x[i])                 // the larger absolute value
			VCMPPD_BCST(U8(6), argument("certainty"), x[i], doubt) // not at most
			KORB(outside, doubt, doubt)
			KMOVB(doubt, mask)
			MOVB(mask.As8(), Mem{Base: at["doubts"], Disp: i})
		}
		for _, name := range []string{"dst", "sum", "rest", "words"} {
			ADDQ(I32(128*n), at[name])
		}
		ADDQ(U8(n), at["doubts"])
	}
	SUBQ(U8(2), blocks)
	JLT(LabelRef("last"))
	Label("loop")
	round(2)
	SUBQ(U8(2), blocks)
	JGE(LabelRef("loop"))
	Label("last")
	ADDQ(U8(2), blocks)
	JZ(LabelRef("done"))
	round(1)
	Label("done")
	VZEROUPPER()
	RET()
}

// zmms returns new registers.
func zmms(n int) []vec {
	v := make([]vec, n)
	for i := range v {
		v[i] = ZMM()
	}
	return v
}

// radii512 are the logarithms of eight words of each of some blocks, up to their divisions.
type radii512 struct{ g, k, quotient []vec }

func startRadii512(words reg.GPVirtual, blocks int) radii512 {
	r := radii512{zmms(blocks), zmms(blocks), zmms(blocks)}
	for i := range blocks {
		odd, f, small := ZMM(), ZMM(), K()
		g, k := r.g[i], r.k[i]
		VPBROADCASTQ(word(1), odd)
		VPORQ(Mem{Base: words, Disp: 128 * i}, odd, odd)
		VPCMPUQ_BCST(U8(1), word(sqrtHalf), odd, small)
		VCVTQQ2PD(odd, g) // of 2^64·(u-1), for those that are not small
		VMULPD_BCST(float(0x1p-64), g, g)
		VCVTUQQ2PD(odd, f) // 2^64·u
		VPADDQ_BCST(word(biased), f, f)
		VPSRLQ(U8(52), f, k)
		VPANDQ_BCST(word(1<<52-1), f, f)
		VPADDQ_BCST(float(math.Sqrt2/2), f, f)
		VSUBPD_BCST(float(1), f, small, g)
		VADDPD_BCST(float(2), g, r.quotient[i])
		VDIVPD(r.quotient[i], g, r.quotient[i])
		VPORQ_BCST(float(0x1p52), k, k)
		VBROADCASTSD(float(0x1p52+1023+64), f)
		VSUBPD_Z(k, f, small, k)
	}
	return r
}

// finish returns sqrt(-2 ln u). -2 ln u is computed as twice -ln u.
func (r radii512) finish() []vec {
	z := squares512(r.quotient)
	p := estrin512(z, squares512(z), twice(logarithm))
	for i := range p {
		gg := ZMM()
		VMULPD(r.g[i], r.g[i], gg)
		VFMADD213PD(gg, z[i], p[i])
		VFNMADD213PD(gg, r.quotient[i], p[i])
		VFNMADD231PD_BCST(float(2), r.g[i], p[i])
		VFMADD231PD_BCST(float(2*math.Ln2), r.k[i], p[i])
		VSQRTPD(p[i], p[i])
	}
	return p
}

// directions512 are sines and cosines of angles of eight words of each of some blocks, but for the
// quarter of the turn.
type directions512 struct{ turned, sin, cos []vec }

func startDirections512(words reg.GPVirtual, blocks int) directions512 {
	turned, t := zmms(blocks), zmms(blocks)
	for i := range blocks {
		VMOVDQU64(Mem{Base: words, Disp: 128*i + 64}, turned[i])
		VPSLLQ(U8(2), turned[i], t[i])                 // four times what is left of the nearest quarter turn
		VPADDQ_BCST(word(1<<61), turned[i], turned[i]) // bits 62 and 63 are the quarter
		VCVTQQ2PD(t[i], t[i])
		VMULPD_BCST(float(2*math.Pi*0x1p-66), t[i], t[i])
	}
	z := squares512(t)
	square := squares512(z)
	sin, cos := estrin512(z, square, sine), estrin512(z, square, cosine)
	for i := range blocks {
		low := ZMM()
		VBROADCASTSD(float(1), low)
		VFNMADD231PD_BCST(float(0.5), z[i], low)
		VMULPD(z[i], t[i], z[i])
		VFMADD213PD(low, square[i], cos[i])
		VFMADD213PD(t[i], z[i], sin[i])
	}
	return directions512{turned, sin, cos}
}

// finish returns cos θ and sin θ.
func (d directions512) finish() (x, y []vec) {
	x, y = zmms(len(d.sin)), zmms(len(d.sin))
	for i := range d.sin {
		odd := K()
		VPTESTMQ_BCST(word(1<<62), d.turned[i], odd)
		VBLENDMPD(d.sin[i], d.cos[i], odd, x[i])
		VBLENDMPD(d.cos[i], d.sin[i], odd, y[i])
		const flip = 0x78 // a^(b&c): the sign of a, where b has one
		VPTERNLOGQ_BCST(U8(flip), word(1<<63), d.turned[i], y[i])
		VPADDQ_BCST(word(1<<62), d.turned[i], d.turned[i])
		VPTERNLOGQ_BCST(U8(flip), word(1<<63), d.turned[i], x[i])
	}
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

// squares512 returns the squares of z.
func squares512(z []vec) []vec {
	square := zmms(len(z))
	for i := range z {
		VMULPD(z[i], z[i], square[i])
	}
	return square
}

// estrin512 is estrin on vectors of eight.
func estrin512(z, square []vec, c []float64) []vec {
	pair := func(of int) []vec {
		p := zmms(len(z))
		for i := range z {
			VBROADCASTSD(float(c[of+1]), p[i])
			VFMADD213PD_BCST(float(c[of]), z[i], p[i])
		}
		return p
	}
	low, middle := pair(0), pair(2)
	for i := range z {
		VFMADD231PD(middle[i], square[i], low[i])
	}
	high := pair(4)
	for i := range z {
		fourth := ZMM()
		if len(c) == 7 {
			VFMADD231PD_BCST(float(c[6]), square[i], high[i])
		}
		VMULPD(square[i], square[i], fourth)
		VFMADD231PD(high[i], fourth, low[i])
	}
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
