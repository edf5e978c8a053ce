package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposes writes functions that transpose blocks of 4, 6 and 8 rows, of which packing is made.
func transposes() {
	for _, rows := range []int{4, 6, 8} {
		transpose(rows)
	}
}

// transpose writes a function that transposes rows×8 blocks, one to the right of
// the other in src and one below the other in dst.
func transpose(rows int) {
	name := fmt.Sprintf("transpose%dAVX2", rows)
	TEXT(name, NOSPLIT, "func(blocks int, dst *float32, dstStride int, src *float32, srcStride int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s writes element (i, j) of %d rows and 8·blocks columns of src to (j, i) of dst.", name, rows))
	blocks, dst, src := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	dstStride, srcStride := loadBytes("dstStride"), loadBytes("srcStride")

	Label("block")
	var row [8]reg.VecVirtual
	from := GP64()
	MOVQ(src, from)
	for i := range 8 {
		if i >= rows {
			row[i] = row[rows-1] // not stored
			continue
		}
		row[i] = YMM()
		VMOVUPS(Mem{Base: from}, row[i])
		if i < rows-1 {
			ADDQ(srcStride, from)
		}
	}
	for _, column := range transposed(row) {
		storeColumn(column, dst, rows)
		ADDQ(dstStride, dst)
	}
	ADDQ(U8(4*8), src)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// transposed returns the transpose of 8×8 values: pairs of values, then fours, then halves of the
// registers change places.
func transposed(row [8]reg.VecVirtual) [8]reg.VecVirtual {
	var pairs, fours, columns [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		pairs[i], pairs[i+1] = YMM(), YMM()
		VUNPCKLPS(row[i+1], row[i], pairs[i])
		VUNPCKHPS(row[i+1], row[i], pairs[i+1])
	}
	for _, half := range []int{0, 4} {
		for i := range 2 {
			lo, hi := YMM(), YMM()
			VSHUFPS(U8(0x44), pairs[half+2+i], pairs[half+i], lo)
			VSHUFPS(U8(0xee), pairs[half+2+i], pairs[half+i], hi)
			fours[half+2*i], fours[half+2*i+1] = lo, hi
		}
	}
	for i := range 4 {
		columns[i], columns[i+4] = YMM(), YMM()
		VPERM2F128(U8(0x20), fours[i+4], fours[i], columns[i])
		VPERM2F128(U8(0x31), fours[i+4], fours[i], columns[i+4])
	}
	return columns
}

// storeColumn stores the first rows values of v and nothing behind them.
func storeColumn(v reg.VecVirtual, dst reg.GPVirtual, rows int) {
	switch rows {
	case 8:
		VMOVUPS(v, Mem{Base: dst})
	case 6:
		VMOVUPS(v.AsX(), Mem{Base: dst})
		upper := XMM()
		VEXTRACTF128(U8(1), v, upper)
		VMOVLPS(upper, Mem{Base: dst, Disp: 16})
	case 4:
		VMOVUPS(v.AsX(), Mem{Base: dst})
	}
}
