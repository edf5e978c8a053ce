package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// halfPrecision writes the conversions between half precision and float32, with F16C. They take a
// number of elements that is a multiple of block.
func halfPrecision() {
	convert("fromHalvesAVX2", "dst *float32, src *uint16", "writes the float32 values of the halves of src to dst", 4, 2, func(from, to Mem) {
		y := YMM()
		VCVTPH2PS(from, y)
		VMOVUPS(y, to)
	})
	convert("toHalvesAVX2", "dst *uint16, src *float32", "rounds src to halves at dst", 2, 4, func(from, to Mem) {
		y := YMM()
		VMOVUPS(from, y)
		VCVTPS2PH(U8(toNearestEven), y, to)
	})
}

// toNearestEven is the rounding of VCVTPS2PH, whatever MXCSR says.
const toNearestEven = 0

// convert writes a function over 16·blocks elements, of which body takes eight; the elements of dst
// and src have these sizes in bytes.
func convert(name, parameters, duty string, dstSize, srcSize int, body func(from, to Mem)) {
	TEXT(name, NOSPLIT, "func(blocks int, "+parameters+")")
	Pragma("noescape")
	Doc(name + " " + duty + ", 16·blocks elements.")
	blocks, dst, src := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Label("loop")
	for i := range block / 8 {
		body(Mem{Base: src, Disp: 8 * srcSize * i}, Mem{Base: dst, Disp: 8 * dstSize * i})
	}
	ADDQ(U8(srcSize*block), src)
	ADDQ(U8(dstSize*block), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
