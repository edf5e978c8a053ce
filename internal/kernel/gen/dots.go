package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dotCols is how many rows of the second matrix meet dotRows of the first in a tile. For 4 of them,
// on AVX-512, that is 20 sums, 4 registers for the first and 1 for the second of 32; for 2, on
// AVX2, 10, 2 and 1 of 16.
const dotCols = 5

// dots writes the functions that multiply rows of one matrix with rows of another, element by
// element, and sum: tiles of t.dotRows×dotCols sums and what is left at the edges. A sum is taken
// in the same order in all of them.
func dots(t target) {
	dotTile(t, "Tile", t.dotRows, dotCols)
	dotTile(t, "Row", 1, dotCols)
	dotTile(t, "Column", t.dotRows, 1)
	dotTile(t, "Single", 1, 1)
}

func dotTile(t target, shape string, rows, cols int) {
	name := "dots" + t.name + shape
	TEXT(name, NOSPLIT, "func(blocks int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s writes the products of rows of a and b, %d·blocks values long, to %d×%d values of c.", name, t.lanes, rows, cols))
	blocks := GP64()
	Load(Param("blocks"), blocks)
	left, right := newDotRows("a", rows), newDotRows("b", cols)
	var sums [][]reg.VecVirtual
	for range rows {
		sums = append(sums, nil)
		for range cols {
			v := t.vector()
			t.clear(v)
			sums[len(sums)-1] = append(sums[len(sums)-1], v)
		}
	}

	Label("loop")
	var x []reg.VecVirtual
	for i := range rows {
		x = append(x, t.vector())
		VMOVUPS(left.at(i), x[i])
	}
	w := t.vector()
	for j := range cols {
		VMOVUPS(right.at(j), w)
		for i := range rows {
			VFMADD231PS(w, x[i], sums[i][j])
		}
	}
	ADDQ(U8(4*t.lanes), left.base)
	ADDQ(U8(4*t.lanes), right.base)
	DECQ(blocks)
	JNZ(LabelRef("loop"))

	to, next := GP64(), loadBytes("ldc")
	Load(Param("c"), to)
	for i := range rows {
		for j := range cols {
			VMOVSS(t.addLanes(sums[i][j]), Mem{Base: to, Disp: 4 * j})
		}
		ADDQ(next, to)
	}
	VZEROUPPER()
	RET()
}

// dotRows points to up to five rows of a matrix, where a loop along them has come to.
type dotRows struct{ base, stride, thrice reg.GPVirtual }

func newDotRows(name string, rows int) (r dotRows) {
	r.base = GP64()
	Load(Param(name), r.base)
	if rows > 1 {
		r.stride, r.thrice = loadBytes("ld"+name), GP64()
		LEAQ(Mem{Base: r.stride, Index: r.stride, Scale: 2}, r.thrice)
	}
	return r
}

// at returns the address of row i where the loop has come to.
func (r dotRows) at(i int) Mem {
	switch i {
	case 0:
		return Mem{Base: r.base}
	case 3:
		return Mem{Base: r.base, Index: r.thrice, Scale: 1}
	}
	return Mem{Base: r.base, Index: r.stride, Scale: uint8(i)}
}

// addLanes adds the lanes of v, halves to each other until one is left, and returns that register.
// It is among the first 16, which alone the instructions for shorter vectors know.
func (t target) addLanes(v reg.VecVirtual) Op {
	if t.lanes == 16 {
		VEXTRACTF64X4(U8(0), v, reg.Y14)
		VEXTRACTF64X4(U8(1), v, reg.Y15)
		VADDPS(reg.Y15, reg.Y14, reg.Y14)
	} else {
		VMOVAPS(v, reg.Y14)
	}
	VEXTRACTF128(U8(1), reg.Y14, reg.X15)
	VADDPS(reg.X15, reg.X14, reg.X14)
	VHADDPS(reg.X14, reg.X14, reg.X14)
	VHADDPS(reg.X14, reg.X14, reg.X14)
	return reg.X14
}
