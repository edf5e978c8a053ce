package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// integers writes the kernels that make integers of float32 values. They take a number of elements
// that is a multiple of block, and sum squares in float64.
func integers() {
	addRounded()
	addRoundedWide()
	roundRow()
	roundRowWide()
	pair()
	shifted()
}

func addRounded() {
	TEXT("addRoundedAVX2", NOSPLIT, "func(blocks int, sum *float64, row *float32, scale float32) float64")
	Pragma("noescape")
	Doc("addRoundedAVX2 adds the integers nearest to scale·row to sum, 16·blocks elements, and returns the sum of their squares.")
	blocks, sum, row := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("sum"), sum)
	Load(Param("row"), row)
	scale := broadcast("scale")
	squares := zeroSums()
	Label("loop")
	for i := range block / 4 {
		c, v, total := XMM(), YMM(), YMM()
		VMULPS(Mem{Base: row, Disp: 16 * i}, scale.AsX(), c)
		VROUNDPS(U8(0), c, c) // to nearest, ties to even
		VCVTPS2PD(c, v)
		VADDPD(Mem{Base: sum, Disp: 32 * i}, v, total)
		VMOVUPD(total, Mem{Base: sum, Disp: 32 * i})
		VFMADD231PD(v, v, squares[i])
	}
	ADDQ(U8(4*block), row)
	SUBQ(I32(-8*block), sum)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	returnSum(squares)
}

// pair writes Pair of the package, for two rows.
func pair() {
	TEXT("pairAVX2", NOSPLIT, "func(blocks int, dst *int32, first, second *int16)")
	Pragma("noescape")
	Doc("pairAVX2 writes first to the lower halves of dst and second to the upper ones, 16·blocks elements.")
	blocks, dst, first, second := GP64(), GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("first"), first)
	Load(Param("second"), second)
	Label("loop")
	for i := range block / 8 {
		lower, upper := YMM(), YMM()
		VPMOVZXWD(Mem{Base: first, Disp: 16 * i}, lower)
		VPMOVZXWD(Mem{Base: second, Disp: 16 * i}, upper)
		VPSLLD(U8(16), upper, upper)
		VPOR(lower, upper, upper)
		VMOVDQU(upper, Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(U8(2*block), first)
	ADDQ(U8(2*block), second)
	ADDQ(U8(4*block), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// shifted writes the kernels of AddShifted of the package, for int32 sums of products of pairs.
func shifted() {
	for _, t := range []target{avx2, avx512} {
		for _, first := range []bool{false, true} {
			addShifted(t, first)
		}
	}
}

func addShifted(t target, first bool) {
	name, does := "addShifted"+t.name, "adds x·2^shift to dst"
	if first {
		name, does = "shifted"+t.name, "writes x·2^shift to dst"
	}
	count := 2 * t.lanes
	TEXT(name, NOSPLIT, "func(blocks int, dst *int64, x *int32, shift int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s %s, %d·blocks elements.", name, does, count))
	blocks, dst, x, shift := GP64(), GP64(), GP64(), XMM()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	address, err := Param("shift").Resolve()
	if err != nil {
		panic(err)
	}
	VMOVQ(address.Addr, shift)
	Label("loop")
	for i := range 4 {
		v, to := t.vector(), Mem{Base: dst, Disp: 4 * t.lanes * i}
		VPMOVSXDQ(Mem{Base: x, Disp: 2 * t.lanes * i}, v)
		VPSLLQ(shift, v, v)
		if !first {
			VPADDQ(to, v, v)
		}
		VMOVUPD(v, to)
	}
	ADDQ(U8(4*count), x)
	SUBQ(I32(-8*count), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// wideBlock is how many elements a round of the AVX-512 kernels takes.
const wideBlock = 32

// addRoundedWide writes addRounded's kernel on vectors twice as wide.
func addRoundedWide() {
	TEXT("addRoundedAVX512", NOSPLIT, "func(blocks int, sum *float64, row *float32, scale float32) float64")
	Pragma("noescape")
	Doc("addRoundedAVX512 adds the integers nearest to scale·row to sum, 32·blocks elements, and returns the sum of their squares.")
	blocks, sum, row := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("sum"), sum)
	Load(Param("row"), row)
	scale, squares := broadcastWide("scale"), wideZeros()
	Label("loop")
	for i, square := range squares {
		c, v, total := YMM(), ZMM(), ZMM()
		VMULPS(Mem{Base: row, Disp: 32 * i}, scale.AsY(), c)
		VROUNDPS(U8(0), c, c) // to nearest, ties to even
		VCVTPS2PD(c, v)
		VADDPD(Mem{Base: sum, Disp: 64 * i}, v, total)
		VMOVUPD(total, Mem{Base: sum, Disp: 64 * i})
		VFMADD231PD(v, v, square)
	}
	SUBQ(I32(-4*wideBlock), row)
	SUBQ(I32(-8*wideBlock), sum)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	returnWideSum(squares)
}

// returnWideSum ends a function with the sum of all lanes of sums as its first result.
func returnWideSum(sums [wideBlock / 8]vec) {
	VADDPD(sums[1], sums[0], sums[0])
	VADDPD(sums[3], sums[2], sums[2])
	VADDPD(sums[2], sums[0], sums[0])
	half, quarter := YMM(), XMM()
	VEXTRACTF64X4(U8(1), sums[0], half)
	VADDPD(sums[0].AsY(), half, half)
	VEXTRACTF128(U8(1), half, quarter)
	total := half.AsX()
	VADDPD(quarter, total, total)
	VHADDPD(total, total, total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func wideZeros() (sums [wideBlock / 8]vec) {
	for i := range sums {
		sums[i] = ZMM()
		VPXORD(sums[i], sums[i], sums[i])
	}
	return sums
}

// broadcastWide returns a register with a float32 parameter in all lanes.
func broadcastWide(parameter string) vec {
	v := ZMM()
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(address.Addr, v)
	return v
}

// roundRowWide writes roundRow's kernel on vectors twice as wide. Squares are summed as integers, and
// magnitudes compared by their bits, which puts infinities and NaN above all numbers.
func roundRowWide() {
	TEXT("roundAVX512", NOSPLIT, "func(blocks int, dst *int16, src *float32, scale float32) (squares int64, largest float32)")
	Pragma("noescape")
	Doc("roundAVX512 writes the integers nearest to scale·src to dst, 32·blocks elements, and returns the sum of their squares and the largest magnitude.")
	blocks, dst, src := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	scale, largest, squares, order := broadcastWide("scale"), ZMM(), ZMM(), ZMM()
	VPXORD(largest, largest, largest)
	VPXORD(squares, squares, squares)
	packed := GLOBL("packedOrder", RODATA|NOPTR)
	for i, from := range []uint64{0, 2, 4, 6, 1, 3, 5, 7} {
		DATA(8*i, U64(from))
	}
	VMOVDQU64(packed, order)
	signless, low := ZMM(), ZMM()
	VPTERNLOGD(U8(0xff), low, low, low) // all bits
	VPSRLD(U8(1), low, signless)
	VPSRLQ(U8(32), low, low)
	Label("loop")
	var c [wideBlock / 16]vec
	for i := range c {
		c[i] = ZMM()
		magnitude := ZMM()
		VMULPS(Mem{Base: src, Disp: 64 * i}, scale, c[i])
		VPANDD(signless, c[i], magnitude)
		VPMAXUD(magnitude, largest, largest)
		VCVTPS2DQ(c[i], c[i]) // to nearest, ties to even
	}
	integers, two := c[0], c[1]
	VPACKSSDW(two, integers, integers)
	VPERMQ(integers, order, integers) // packing mixes the quarters of both
	VMOVDQU64(integers, Mem{Base: dst})
	VPMADDWD(integers, integers, two) // sums of two squares, below 2^32
	VPANDQ(low, two, integers)
	VPADDQ(integers, squares, squares)
	VPSRLQ(U8(32), two, two)
	VPADDQ(two, squares, squares)
	SUBQ(I32(-4*wideBlock), src)
	ADDQ(U8(2*wideBlock), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))

	half := YMM()
	VEXTRACTI64X4(U8(1), largest, half)
	VPMAXUD(half, largest.AsY(), half)
	most, other := half.AsX(), XMM()
	VEXTRACTI128(U8(1), half, other)
	VPMAXUD(other, most, most)
	for _, swap := range []uint8{0x4e, 0xb1} {
		VPSHUFD(U8(swap), most, other)
		VPMAXUD(other, most, most)
	}
	VROUNDSS(U8(0), most, most, most)
	Store(most, ReturnIndex(1))
	VEXTRACTI64X4(U8(1), squares, half)
	VPADDQ(half, squares.AsY(), half)
	total := half.AsX()
	VEXTRACTI128(U8(1), half, other)
	VPADDQ(other, total, total)
	VPSHUFD(U8(0x4e), total, other)
	VPADDQ(other, total, total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// storeLargest stores the largest of eight values as the second result.
func storeLargest(v vec) {
	half, x := XMM(), v.AsX()
	VEXTRACTF128(U8(1), v, half)
	VMAXPS(half, x, x)
	VPERMILPS(U8(0x4e), x, half)
	VMAXPS(half, x, x)
	VPERMILPS(U8(0xb1), x, half)
	VMAXSS(half, x, x)
	Store(x, ReturnIndex(1))
}

// addSquares adds the squares of the eight values of c, made float64 by convert, four at a time. It
// changes c.
func addSquares(c, first, second vec, convert func(from, to vec)) {
	v := YMM()
	convert(c, v)
	VFMADD231PD(v, v, first)
	upper := YMM()
	VEXTRACTF128(U8(1), c, upper.AsX())
	convert(upper, v)
	VFMADD231PD(v, v, second)
}

func zeroSums() (sums [block / 4]vec) {
	for i := range sums {
		sums[i] = zeros()
	}
	return sums
}

func roundRow() {
	TEXT("roundAVX2", NOSPLIT, "func(blocks int, dst *int16, src *float32, scale float32) (squares float64, largest float32)")
	Pragma("noescape")
	Doc("roundAVX2 writes the integers nearest to scale·src to dst, 16·blocks elements, and returns the sum of their squares and the largest magnitude.")
	blocks, dst, src := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	scale, largest := broadcast("scale"), zeros()
	squares := zeroSums()
	Label("loop")
	var integers [block / 8]vec
	for i := range integers {
		c, magnitude := YMM(), YMM()
		integers[i] = YMM()
		VMULPS(Mem{Base: src, Disp: 32 * i}, scale, c)
		VROUNDPS(U8(0), c, c) // to nearest, ties to even
		VCVTPS2DQ(c, integers[i])
		VANDPS(quad(0x7fffffff7fffffff), c, magnitude)
		VMAXPS(magnitude, largest, largest)
		addSquares(c, squares[2*i], squares[2*i+1], func(from, to vec) { VCVTPS2PD(from.AsX(), to) })
	}
	VPACKSSDW(integers[1], integers[0], integers[0])
	VPERMQ(U8(0b11011000), integers[0], integers[0]) // packing mixes the halves of both
	VMOVDQU(integers[0], Mem{Base: dst})
	ADDQ(U8(4*block), src)
	ADDQ(U8(2*block), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	storeLargest(largest)
	returnSum(squares)
}
