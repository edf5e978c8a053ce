package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// addExcess writes the kernel of soft thresholds: as many columns as a register holds pass all rows
// at a time, their four sums in registers.
func addExcess(t target) {
	TEXT("addExcess"+t.name, NOSPLIT, "func(blocks, rows, stride int, above, below, otherAbove, otherBelow *float32, x, y *int32, scale, low, high *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("addExcess%s is AddExcess for %d·blocks columns of rows that are stride bytes apart.", t.name, t.lanes))
	blocks, stride, offset := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("stride"), stride)
	XORQ(offset, offset)
	zeros := func() vec {
		v := t.vector()
		t.clear(v)
		return v
	}
	zero := zeros()

	// What has no register over a block comes from the arguments again.
	at := func(parameter string) Mem {
		p := GP64()
		Load(Param(parameter), p)
		return Mem{Base: p, Index: offset, Scale: 1}
	}
	Label("block")
	low, high := t.vector(), t.vector()
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
	x, y, scale := t.vector(), t.vector(), t.vector()
	VCVTDQ2PS(Mem{Base: in[0]}, x)
	VCVTDQ2PS(Mem{Base: in[1]}, y)
	VBROADCASTSS(Mem{Base: scales}, scale)
	for i, combine := range []func(...Op){VADDPS, VSUBPS} {
		v, above, below := t.vector(), t.vector(), t.vector()
		combine(y, x, v)
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
	ADDQ(U8(4*t.lanes), offset)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}
