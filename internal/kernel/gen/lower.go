package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lowering writes the inner loops of the lowering of convolutions, for runs of at
// least 8 values and of 4 to 7.
func lowering() {
	copyRuns("copyRuns8AVX2", 8)
	copyRuns("copyRuns4AVX2", 4)
}

// copyRuns writes a function that copies positions·rows runs, one after the other at dst. Runs
// start pitch apart in src, and step further for the next position. The end of a run is copied by a
// vector that ends with it, so that nothing outside is read or written.
func copyRuns(name string, lanes int) {
	TEXT(name, NOSPLIT, "func(positions, rows, run int, dst, src *float32, step, pitch int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s copies runs of at least %d values.", name, lanes))
	positions, rows, run := GP64(), GP64(), GP64()
	dst, src := GP64(), GP64()
	Load(Param("positions"), positions)
	Load(Param("run"), run)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	step, pitch := loadBytes("step"), loadBytes("pitch")
	SHLQ(U8(2), run)
	from, at, last, v := GP64(), GP64(), GP64(), YMM()
	move := func(a, b Op) { VMOVUPS(a, b) }
	x := Op(v)
	if lanes == 4 {
		x = v.AsX()
	}
	MOVQ(run, last)
	SUBQ(U8(4*lanes), last)
	if lanes == 8 {
		JZ(LabelRef("eight"))
	}

	Label("position")
	MOVQ(src, from)
	Load(Param("rows"), rows)
	Label("row")
	XORQ(at, at)
	CMPQ(at, last)
	JGE(LabelRef("end"))
	Label("vector")
	move(Mem{Base: from, Index: at, Scale: 1}, x)
	move(x, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(U8(4*lanes), at)
	CMPQ(at, last)
	JL(LabelRef("vector"))
	Label("end")
	move(Mem{Base: from, Index: last, Scale: 1}, x)
	move(x, Mem{Base: dst, Index: last, Scale: 1})
	ADDQ(run, dst)
	ADDQ(pitch, from)
	DECQ(rows)
	JNZ(LabelRef("row"))
	ADDQ(step, src)
	DECQ(positions)
	JNZ(LabelRef("position"))
	VZEROUPPER()
	RET()
	if lanes == 8 {
		copyEights(positions, rows, dst, src, step, pitch)
	}
}

// copyEights writes the loops for runs of a single vector, two rows at a time.
func copyEights(positions, rows, dst, src, step, pitch reg.GPVirtual) {
	from, v, w := GP64(), YMM(), YMM()
	Label("eight")
	MOVQ(src, from)
	Load(Param("rows"), rows)
	SUBQ(U8(2), rows)
	JL(LabelRef("single"))
	Label("two")
	VMOVUPS(Mem{Base: from}, v)
	VMOVUPS(Mem{Base: from, Index: pitch, Scale: 1}, w)
	VMOVUPS(v, Mem{Base: dst})
	VMOVUPS(w, Mem{Base: dst, Disp: 32})
	ADDQ(U8(64), dst)
	LEAQ(Mem{Base: from, Index: pitch, Scale: 2}, from)
	SUBQ(U8(2), rows)
	JGE(LabelRef("two"))
	Label("single")
	ADDQ(U8(2), rows)
	JZ(LabelRef("eights"))
	VMOVUPS(Mem{Base: from}, v)
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(U8(32), dst)
	Label("eights")
	ADDQ(step, src)
	DECQ(positions)
	JNZ(LabelRef("eight"))
	VZEROUPPER()
	RET()
}
