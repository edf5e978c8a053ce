package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// firstLanes returns a mask of the first n ≤ 8 lanes: eight words of the table,
// the first n of them ones. It changes n.
func firstLanes(n reg.GPVirtual) reg.VecVirtual {
	table, mask := GP64(), YMM()
	LEAQ(maskTable(), table)
	SHLQ(U8(2), n)
	SUBQ(n, table)
	VMOVDQU(Mem{Base: table, Disp: 4 * 8}, mask)
	return mask
}

var table *Mem // of the file being written

// maskTable returns the place in memory of eight words of ones and then eight of zeros.
func maskTable() Mem {
	if table == nil {
		m := GLOBL("laneMask", RODATA|NOPTR)
		for i := range 16 {
			word := U32(0xffffffff)
			if i >= 8 {
				word = 0
			}
			DATA(4*i, word)
		}
		table = &m
	}
	return *table
}

var pieces int // calls of storePieces, which number its labels

// storePieces stores the first n ≤ 8 values of a vector as 8, or 4, 2 and 1 of them. Masked stores
// of AVX2 take some 40 micro-operations on Zen processors. It changes the vector.
func storePieces(from reg.VecVirtual, to Mem, n reg.GPVirtual) {
	pieces++
	label := func(piece string) string { return fmt.Sprintf("%s%d", piece, pieces) }
	at, x := GP64(), from.AsX()
	LEAQ(to, at)
	TESTQ(I32(8), n)
	JZ(LabelRef(label("four")))
	VMOVUPS(from, Mem{Base: at})
	JMP(LabelRef(label("stored")))

	Label(label("four"))
	TESTQ(I32(4), n)
	JZ(LabelRef(label("two")))
	VMOVUPS(x, Mem{Base: at})
	VEXTRACTF128(U8(1), from, x)
	ADDQ(U8(16), at)

	Label(label("two"))
	TESTQ(I32(2), n)
	JZ(LabelRef(label("one")))
	VMOVLPS(x, Mem{Base: at})
	VPERMILPS(U8(0xee), x, x)
	ADDQ(U8(8), at)

	Label(label("one"))
	TESTQ(I32(1), n)
	JZ(LabelRef(label("stored")))
	VMOVSS(x, Mem{Base: at})
	Label(label("stored"))
}
