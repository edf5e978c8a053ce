package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addExcess writes the kernel of soft thresholds: eight columns at a time pass all rows, their four
// sums in registers.
func addExcess() {
	TEXT("addExcessAVX2", NOSPLIT, "func(blocks, rows, stride int, above, below, otherAbove, otherBelow, x, y, scale, low, high *float32)")
	Pragma("noescape")
	Doc("addExcessAVX2 is AddExcess for 8·blocks columns of rows that are stride bytes apart.")
	blocks, stride, offset := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("stride"), stride)
	XORQ(offset, offset)
	zero := zeros()

	// What has no register over a block comes from the arguments again.
	at := func(parameter string) Mem {
		p := GP64()
		Load(Param(parameter), p)
		return Mem{Base: p, Index: offset, Scale: 1}
	}
	Label("block")
	low, high := YMM(), YMM()
	VMOVUPS(at("low"), low)
	VMOVUPS(at("high"), high)
	excess := [2][2]vec{{zeros(), zeros()}, {zeros(), zeros()}}
	var in [2]reg.GPVirtual
	for i, p := range []string{"x", "y"} {
		in[i] = GP64()
		LEAQ(at(p), in[i])
	}
	rows, scales := GP64(), GP64()
	Load(Param("rows"), rows)
	Load(Param("scale"), scales)

	Label("row")
	x, scale := YMM(), YMM()
	VMOVUPS(Mem{Base: in[0]}, x)
	VBROADCASTSS(Mem{Base: scales}, scale)
	for i, combine := range []func(...Op){VADDPS, VSUBPS} {
		v, above, below := YMM(), YMM(), YMM()
		combine(Mem{Base: in[1]}, x, v)
		VMOVAPS(low, below)
		VFNMADD231PS(scale, v, below)
		VMOVAPS(v, above)
		VFMSUB213PS(high, scale, above)
		// Of two operands that do not compare, VMAXPS returns the first one written here.
		VMAXPS(above, zero, above)
		VMAXPS(below, zero, below)
		VADDPS(above, excess[i][0], excess[i][0])
		VADDPS(below, excess[i][1], excess[i][1])
	}
	ADDQ(stride, in[0])
	ADDQ(stride, in[1])
	ADDQ(U8(4), scales)
	DECQ(rows)
	JNZ(LabelRef("row"))

	for i, names := range [2][2]string{{"above", "below"}, {"otherAbove", "otherBelow"}} {
		for j, name := range names {
			to, sum := at(name), excess[i][j]
			VADDPS(to, sum, sum)
			VMOVUPS(sum, to)
		}
	}
	ADDQ(U8(32), offset)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}
