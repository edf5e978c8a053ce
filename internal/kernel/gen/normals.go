package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// noise writes the kernels of the private update: noise on a lattice and the update rules that read
// it. All compute in float64, four lanes at a time, the same operations in the same order as their
// portable twins: the results are equal to the last bit.
func noise() {
	roundedSum()
	updates()
}

// roundedSum writes addRoundedNormals: sixteen integers plus sixteen rounded normals, and
// the bits of the pairs that are in doubt.
func roundedSum() {
	TEXT("addRoundedNormalsAVX2", NOSPLIT,
		"func(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)")
	Pragma("noescape")
	Doc("addRoundedNormalsAVX2 computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blocks values.")
	blocks, dst, sum, rest, words, doubts := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("sum"), sum)
	Load(Param("rest"), rest)
	Load(Param("words"), words)
	Load(Param("doubts"), doubts)
	deviation, certainty, spacing := everywhere("deviation"), everywhere("certainty"), everywhere("spacing")
	Label("loop")
	masks := [2]reg.GPVirtual{GP32(), GP32()}
	for half, mask := range masks {
		at := 32 * half // of the cosines; the sines are eight values further
		r, x, y := normalPairs(Mem{Base: words, Disp: at})
		VMULPD(deviation, r, r)
		// Words near both ends are below the threshold once nearCentre is added, as signed
		// numbers when 2^63 is.
		radius, outside := YMM(), YMM()
		VMOVDQU(quad(nearCentre+1<<63), radius)
		VPADDQ(Mem{Base: words, Disp: at}, radius, radius)
		VMOVDQU(quad(leastRadius+nearCentre+1<<63), outside)
		VPCMPGTQ(radius, outside, outside)
		for i, direction := range []vec{x, y} {
			n := YMM()
			VFMADD213PD(Mem{Base: rest, Disp: at + 64*i}, r, direction)
			VROUNDPD(U8(0), direction, n) // to nearest, ties to even
			VSUBPD(n, direction, direction)
			VANDPD(quad(1<<63-1), direction, direction)
			VADDPD(Mem{Base: sum, Disp: at + 64*i}, n, n)
			VFMADD213PD(double(0), spacing, n) // -0 + 0 is +0
			VMOVUPD(n, Mem{Base: dst, Disp: at + 64*i})
		}
		VMAXPD(y, x, x)
		VCMPPD(U8(6), certainty, x, x) // not at most
		VORPD(outside, x, x)
		VMOVMSKPD(x, mask)
	}
	SHLL(U8(4), masks[1])
	ORL(masks[1], masks[0])
	MOVB(masks[0].As8(), Mem{Base: doubts})
	ADDQ(U32(128), words)
	ADDQ(U32(128), sum)
	ADDQ(U32(128), rest)
	ADDQ(U32(128), dst)
	INCQ(doubts)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// normalPairs returns the radius r, cos θ and sin θ for the four words at radii and the four angles
// eight words further. The angle is worked on while the division for the radius runs.
func normalPairs(radii Mem) (r, x, y vec) {
	g, k := logarithmParts(radii)
	gg, quotient, sum := YMM(), YMM(), YMM()
	VADDPD(double(2), g, sum)
	VDIVPD(sum, g, quotient)
	VMULPD(g, g, gg)

	turned := YMM()
	VMOVDQU(quad(1<<61), turned)
	VPADDQ(radii.Offset(64), turned, turned) // bits 62 and 63 are the quarter
	sin, cos := quarterTurn(turned)

	// Everything is twice what it is in the package, so that -2 ln u comes out.
	z := YMM()
	VMULPD(quotient, quotient, z)
	square, fourth := powers(z)
	p := estrin(z, square, fourth, twice(logarithm))
	VFMADD213PD(gg, z, p)                 // g²/2 + R
	VFNMADD213PD(gg, quotient, p)         // g²/2 - s·(g²/2 + R)
	VFNMADD231PD(double(2), g, p)         // -ln(1+g)
	VFMADD231PD(double(2*math.Ln2), k, p) // + k·ln 2
	r = p
	VSQRTPD(p, r)

	// Quarter 0: (c, s), 1: (-s, c), 2: (-c, -s), 3: (s, -c).
	odd, sign := YMM(), YMM()
	VPSLLQ(U8(1), turned, odd)
	x, y = YMM(), YMM()
	VBLENDVPD(odd, sin, cos, x)
	VBLENDVPD(odd, cos, sin, y)
	VPAND(quad(1<<63), turned, sign)
	VXORPD(sign, y, y)
	VPADDQ(quad(1<<62), turned, turned)
	VPAND(quad(1<<63), turned, sign)
	VXORPD(sign, x, x)
	return r, x, y
}

// Coefficients of the package's log1p, sine and cosine, the lowest power first.
var (
	logarithm = []float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
		2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}
	sine = []float64{-1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4,
		2.75573136213857245213e-6, -2.50507477628578072866e-8, 1.58962301576546568060e-10}
	cosine = []float64{4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
		-2.75573141792967388112e-7, 2.08757008419747316778e-9, -1.13585365213876817300e-11}
)

// logarithmParts returns g and k, as the package's exponential names them, for the four words at
// words.
func logarithmParts(words Mem) (g, k vec) {
	w, flipped, small, low, constant := YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVDQU(words, w)
	VPOR(quad(1), w, w)
	// small = w < sqrtHalf, as unsigned numbers.
	VPXOR(quad(1<<63), w, flipped)
	VMOVDQU(quad(sqrtHalf^1<<63), small)
	VPCMPGTQ(flipped, small, small)
	// f = u if small, u - 1 if not: the halves of w become mantissas.
	VPBLENDD(U8(0xaa), double(0x1p-12), w, low) // 2^-12 + low half·2^-64
	VPSRLQ(U8(32), w, w)
	VPOR(double(0x1p20), w, w) // 2^20 + high half·2^-32
	VMOVUPD(double(0x1p20+1+0x1p-12), constant)
	VBLENDVPD(small, double(0x1p20+0x1p-12), constant, constant)
	VSUBPD(constant, w, w)
	VADDPD(low, w, w)
	// If small, f = 2^-k·(1+g): the bits of f less those of sqrt(1/2) have -k as their exponent.
	exponent, mantissa := YMM(), YMM()
	VPADDQ(quad(biased), w, exponent)
	VPAND(quad(1<<52-1), exponent, mantissa)
	VPSRLQ(U8(52), exponent, exponent)
	VPADDQ(quad(math.Float64bits(math.Sqrt2/2)), mantissa, mantissa)
	VSUBPD(double(1), mantissa, mantissa)
	g, k = YMM(), YMM()
	VBLENDVPD(small, mantissa, w, g)
	VPOR(double(0x1p52), exponent, exponent)
	VMOVUPD(double(0x1p52+1023), k)
	VSUBPD(exponent, k, k)
	VANDPD(small, k, k)
	return g, k
}

const (
	sqrtHalf = 0xb504f333f9de6485                      // sqrt(1/2) of 2^64
	biased   = 0x3ff0000000000000 - 0x3fe6a09e667f3bcd // bits of 1 less those of sqrt(1/2)

	// The ends of the radius words whose normals are known well enough, as in the package.
	leastRadius = 1 << 45
	nearCentre  = 1 << 34
)

// quarterTurn returns sine and cosine of the part of an angle that is left of
// the nearest quarter turn, as in the package; turned is the angle plus an eighth turn.
func quarterTurn(turned vec) (sin, cos vec) {
	rest := YMM()
	VPAND(quad(1<<62-1), turned, rest)
	VPSUBQ(quad(1<<61), rest, rest)
	t := signed(rest)
	VMULPD(double(2*math.Pi), t, t)
	z, cube := YMM(), YMM()
	VMULPD(t, t, z)
	square, fourth := powers(z)
	sin = estrin(z, square, fourth, sine)
	VMULPD(z, t, cube)
	VFMADD213PD(t, cube, sin)
	low := loadDouble(1)
	VFNMADD231PD(double(0.5), z, low)
	cos = estrin(z, square, fourth, cosine)
	VFMADD213PD(low, square, cos)
	return sin, cos
}

// signed returns x·2^-64 for the four signed integers of x, rounded once: the halves become the
// mantissas of two floats, whose difference from the wanted number is a constant. It changes x.
func signed(x vec) vec {
	low := YMM()
	VPBLENDD(U8(0xaa), double(0x1p-12), x, low) // 2^-12 + low half·2^-64
	VPSRLQ(U8(32), x, x)
	VPXOR(quad(math.Float64bits(0x1p20)|1<<31), x, x) // 2^20 + (high half + 2^31)·2^-32
	VSUBPD(double(0x1p20+0.5+0x1p-12), x, x)
	VADDPD(low, x, x)
	return x
}

// powers returns z² and z⁴.
func powers(z vec) (square, fourth vec) {
	square, fourth = YMM(), YMM()
	VMULPD(z, z, square)
	VMULPD(square, square, fourth)
	return square, fourth
}

// estrin evaluates a polynomial of degree 5 or 6 by Estrin's scheme, in the order of
// the package's function of that name, and returns the square of z too.
func estrin(z, square, fourth vec, c []float64) vec {
	pair := func(i int) vec {
		p := loadDouble(c[i+1])
		VFMADD213PD(double(c[i]), z, p)
		return p
	}
	low, middle, high := pair(0), pair(2), pair(4)
	if len(c) == 7 {
		VFMADD231PD(double(c[6]), square, high)
	}
	VFMADD231PD(middle, square, low)
	VFMADD231PD(high, fourth, low)
	return low
}

var quads = map[uint64]Mem{}

// quad returns the place in memory of four times a 64-bit word.
func quad(bits uint64) Mem {
	m, ok := quads[bits]
	if !ok {
		m = GLOBL(fmt.Sprintf("four%016x", bits), RODATA|NOPTR)
		for i := range 4 {
			DATA(8*i, U64(bits))
		}
		quads[bits] = m
	}
	return m
}

// double returns the place in memory of four times a float64.
func double(v float64) Mem { return quad(math.Float64bits(v)) }

func loadDouble(v float64) vec {
	y := YMM()
	VMOVUPD(double(v), y)
	return y
}

// everywhere returns a register with a float64 parameter in all lanes.
func everywhere(parameter string) vec {
	y := YMM()
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(address.Addr, y)
	return y
}
