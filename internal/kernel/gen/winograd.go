package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// winograd writes the one-dimensional transforms of Winograd's minimal filtering,
// one function each, and the inner loop of the Gram form of a convolution. The
// formulas are those of the portable twins in the package.
func winograd() {
	for _, t := range transforms {
		t.write()
	}
	gramRow()
}

// transform is a small matrix that is applied to vectors.
type transform struct {
	name            string
	inputs, outputs int
	scaled          bool // the inputs are multiplied by an argument first
	constants       []float64
	apply           func(x []vec, c func(float64) vec) []vec
}

// near and far, with their negatives, 0 and ∞, are the points of the transforms of six values.
const near, far = 1 / math.Sqrt2, math.Sqrt2

var transforms = []transform{
	{"winogradWindow6", 6, 6, false, []float64{1. / 2, 2, 5. / 2, near, far}, func(x []vec, c func(float64) vec) []vec {
		e, f := minusTimes(x[4], c(2), x[2]), minusTimes(x[3], c(2), x[1])
		g, h := minusTimes(x[4], c(1./2), x[2]), minusTimes(x[3], c(1./2), x[1])
		return []vec{minusTimes(plus(x[0], x[4]), c(5./2), x[2]),
			plusTimes(e, c(near), f), minusTimes(e, c(near), f), plusTimes(g, c(far), h), minusTimes(g, c(far), h),
			minusTimes(plus(x[1], x[5]), c(5./2), x[3])}
	}},
	{"winogradFilter6", 3, 6, false, []float64{1. / 6, 1. / 3, 2. / 3, far / 6, far / 3}, func(x []vec, c func(float64) vec) []vec {
		e, f := plusTimes(mul(x[2], c(1./3)), c(2./3), x[0]), mul(x[1], c(far/3))
		g, h := plusTimes(mul(x[2], c(1./3)), c(1./6), x[0]), mul(x[1], c(far/6))
		return []vec{x[0], minus(minus(zero(), e), f), minus(f, e), plus(g, h), minus(g, h), x[2]}
	}},
	{"winogradOutput6", 6, 4, false, []float64{1. / 2, 2, near, far, near / 2, 2 * far}, func(x []vec, c func(float64) vec) []vec {
		sum1, difference1 := plus(x[1], x[2]), minus(x[1], x[2])
		sum2, difference2 := plus(x[3], x[4]), minus(x[3], x[4])
		return []vec{plus(plus(x[0], sum1), sum2),
			plusTimes(mul(difference1, c(near)), c(far), difference2),
			plusTimes(mul(sum1, c(1./2)), c(2), sum2),
			plusTimes(plusTimes(x[5], c(near/2), difference1), c(2*far), difference2)}
	}},
	{"winogradWindow4", 4, 4, false, nil, func(x []vec, _ func(float64) vec) []vec {
		return []vec{minus(x[0], x[2]), plus(x[1], x[2]), minus(x[2], x[1]), minus(x[1], x[3])}
	}},
	{"winogradFilter4", 3, 4, false, []float64{1. / 2}, func(x []vec, c func(float64) vec) []vec {
		outer, inner := mul(plus(x[0], x[2]), c(1./2)), mul(x[1], c(1./2))
		return []vec{x[0], plus(outer, inner), minus(outer, inner), x[2]}
	}},
	{"winogradOutput4", 4, 2, false, nil, func(x []vec, _ func(float64) vec) []vec {
		return []vec{plus(plus(x[0], x[1]), x[2]), minus(minus(x[1], x[2]), x[3])}
	}},
	{"winogradDelta4", 2, 4, true, nil, func(x []vec, _ func(float64) vec) []vec {
		return []vec{x[0], plus(x[0], x[1]), minus(x[0], x[1]), minus(zero(), x[1])}
	}},
	{"winogradGradient4", 4, 3, false, []float64{1. / 2}, func(x []vec, c func(float64) vec) []vec {
		sum, difference := mul(plus(x[1], x[2]), c(1./2)), mul(minus(x[1], x[2]), c(1./2))
		return []vec{plus(x[0], sum), difference, plus(sum, x[3])}
	}},
}

func plus(a, b vec) vec {
	y := YMM()
	VADDPS(b, a, y)
	return y
}

func minus(a, b vec) vec {
	y := YMM()
	VSUBPS(b, a, y)
	return y
}

// plusTimes returns a + factor·b, minusTimes a - factor·b.
func plusTimes(a, factor, b vec) vec {
	y := YMM()
	VMOVAPS(a, y)
	VFMADD231PS(factor, b, y)
	return y
}

func minusTimes(a, factor, b vec) vec {
	y := YMM()
	VMOVAPS(a, y)
	VFNMADD231PS(factor, b, y)
	return y
}

func zero() vec {
	y := YMM()
	VXORPS(y, y, y)
	return y
}

// write writes the function of a transform: n values of every vector, eight at a
// time, and then the same for the next tile.
func (t transform) write() {
	name, scale := t.name+"AVX2", ""
	if t.scaled {
		scale = ", scale float32"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf(
		"func(tiles, n int, dst *float32, dstStride, dstStep int, src *[6]*float32, srcStep int%s)", scale))
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes the portable twin of its name, %d vectors to %d, for n a multiple of 8.", name, t.inputs, t.outputs))
	constants := map[float64]vec{}
	for _, value := range t.constants {
		constants[value] = load(value)
	}
	var factor vec
	if t.scaled {
		factor = YMM()
		address, err := Param("scale").Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSS(address.Addr, factor)
	}
	table, src := GP64(), make([]reg.GPVirtual, t.inputs)
	Load(Param("src"), table)
	for i := range src {
		src[i] = GP64()
		MOVQ(Mem{Base: table, Disp: 8 * i}, src[i])
	}
	dst := strided{base: GP64(), stride: loadBytes("dstStride")}
	Load(Param("dst"), dst.base)
	dst.multiples(t.outputs)
	at, left := GP64(), GP64()
	XORQ(at, at)

	Label("tile")
	Load(Param("n"), left)
	Label("loop")
	x := make([]vec, t.inputs)
	for i := range x {
		x[i] = YMM()
		VMOVUPS(Mem{Base: src[i], Index: at, Scale: 1}, x[i])
		if t.scaled {
			VMULPS(factor, x[i], x[i])
		}
	}
	for i, y := range t.apply(x, func(value float64) vec { return constants[value] }) {
		VMOVUPS(y, dst.vector(i))
	}
	ADDQ(U8(32), at)
	ADDQ(U8(32), dst.base)
	SUBQ(U8(8), left)
	JNZ(LabelRef("loop"))

	advance(at, "srcStep")
	advance(dst.base, "dstStep")
	tiles, err := Param("tiles").Resolve()
	if err != nil {
		panic(err)
	}
	DECQ(tiles.Addr)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// advance moves a pointer that has passed n values to the next tile.
func advance(pointer reg.GPVirtual, step string) {
	values := GP64()
	Load(Param(step), values)
	LEAQ(Mem{Base: pointer, Index: values, Scale: 4}, pointer)
	Load(Param("n"), values)
	SHLQ(U8(2), values)
	SUBQ(values, pointer)
}

// strided is up to six vectors in memory, a fixed distance apart.
type strided struct {
	base, stride, stride3, stride5 reg.GPVirtual
}

// multiples computes the multiples of the stride that the addresses of count vectors need.
func (s *strided) multiples(count int) {
	if count > 3 {
		s.stride3 = GP64()
		LEAQ(Mem{Base: s.stride, Index: s.stride, Scale: 2}, s.stride3)
	}
	if count > 5 {
		s.stride5 = GP64()
		LEAQ(Mem{Base: s.stride, Index: s.stride, Scale: 4}, s.stride5)
	}
}

func (s *strided) vector(i int) Mem {
	switch i {
	case 0:
		return Mem{Base: s.base}
	case 3:
		return Mem{Base: s.base, Index: s.stride3, Scale: 1}
	case 5:
		return Mem{Base: s.base, Index: s.stride5, Scale: 1}
	default:
		return Mem{Base: s.base, Index: s.stride, Scale: uint8(i)}
	}
}

// gramVectors is how many vectors of a row gramRow's kernel sums at a time.
const gramVectors = 4

// gramRow writes the sum over one row of the Gram form: for every element the
// taps are added in float32 and the product with v in float64.
func gramRow() {
	TEXT("gramRowAVX2", NOSPLIT, "func(blocks, taps int, offsets *int, base, v *float32) (sum, magnitude float64)")
	Pragma("noescape")
	Doc("gramRowAVX2 is kernelSet.gramRow over 32·blocks elements.")
	blocks, base, v := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("base"), base)
	Load(Param("v"), v)
	sums, magnitudes := [2]vec{zero(), zero()}, [2]vec{zero(), zero()}
	signs := YMM() // everything but the sign bits
	VPCMPEQD(signs, signs, signs)
	VPSRLQ(U8(1), signs, signs)

	Label("block")
	taps, offsets := GP64(), GP64()
	Load(Param("taps"), taps)
	Load(Param("offsets"), offsets)
	var u [gramVectors]vec
	for i := range u {
		u[i] = zero()
	}
	Label("tap")
	offset := GP64()
	MOVQ(Mem{Base: offsets}, offset)
	ADDQ(U8(8), offsets)
	for i := range u {
		VADDPS(Mem{Base: base, Index: offset, Scale: 4, Disp: 32 * i}, u[i], u[i])
	}
	DECQ(taps)
	JNZ(LabelRef("tap"))

	for i := range u {
		upper := XMM()
		VEXTRACTF128(U8(1), u[i], upper)
		for half, x := range []reg.VecVirtual{u[i].AsX().(reg.VecVirtual), upper} {
			a, b := YMM(), YMM()
			VCVTPS2PD(x, a)
			VCVTPS2PD(Mem{Base: v, Disp: 32*i + 16*half}, b)
			VMULPD(b, a, a)
			VADDPD(a, sums[half], sums[half])
			VANDPD(signs, a, a)
			VADDPD(a, magnitudes[half], magnitudes[half])
		}
	}
	ADDQ(I32(32*gramVectors), base)
	ADDQ(I32(32*gramVectors), v)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	for i, halves := range [][2]vec{sums, magnitudes} {
		VADDPD(halves[1], halves[0], halves[0])
		upper, total := XMM(), halves[0].AsX()
		VEXTRACTF128(U8(1), halves[0], upper)
		VADDPD(upper, total, total)
		VHADDPD(total, total, total)
		Store(total, ReturnIndex(i))
	}
	VZEROUPPER()
	RET()
}
