package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reductions writes the kernels that compute in float64. They take a number of
// elements that is a multiple of block.
func reductions() {
	sumSquares()
	columns("sumColumns", "sums the rows", "x", func(in []vec, _ Mem, sums []vec) {
		VADDPD(in[0], sums[0], sums[0])
	}, 1)
	columns("sumProducts", "sums x∘y over the rows", "x, y", func(in []vec, _ Mem, sums []vec) {
		VFMADD231PD(in[0], in[1], sums[0])
	}, 1)
	columns("sumMoments", "sums x-shift and (x-shift)² over the rows, with one shift for each column", "x", func(in []vec, shift Mem, sums []vec) {
		VSUBPD(shift, in[0], in[0])
		VADDPD(in[0], sums[0], sums[0])
		VFMADD231PD(in[0], in[0], sums[1])
	}, 2)
	columns("sumAndDot", "sums x and x∘y over the rows", "x, y", func(in []vec, _ Mem, sums []vec) {
		VADDPD(in[0], sums[0], sums[0])
		VFMADD231PD(in[0], in[1], sums[1])
	}, 2)
}

// block is how many elements a round of the float64 kernels takes: four sums of four lanes.
const block = 16

func sumSquares() {
	TEXT("sumSquaresAVX2", NOSPLIT, "func(blocks int, x *float32) float64")
	Pragma("noescape")
	Doc("sumSquaresAVX2 sums the squares of 16·blocks elements in float64.")
	blocks, x := GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("x"), x)
	var sums [block / 4]vec
	for i := range sums {
		sums[i] = zeros()
	}
	Label("loop")
	for i, sum := range sums {
		u := YMM()
		VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, u)
		VFMADD231PD(u, u, sum)
	}
	ADDQ(U8(4*block), x)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	returnSum(sums)
}

func zeros() vec {
	y := YMM()
	VXORPS(y, y, y)
	return y
}

// returnSum ends a function with the sum of all lanes of sums as its result.
func returnSum(sums [block / 4]vec) {
	VADDPD(sums[1], sums[0], sums[0])
	VADDPD(sums[3], sums[2], sums[2])
	VADDPD(sums[2], sums[0], sums[0])
	upper := XMM()
	VEXTRACTF128(U8(1), sums[0], upper)
	total := sums[0].AsX()
	VADDPD(upper, total, total)
	VHADDPD(total, total, total)
	Store(total, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// columns writes a function that adds one or two sums per column, over the rows of a matrix, to
// float64 values. Columns are taken a block at a time.
func columns(name, does, inputs string, body func(in []vec, shift Mem, sums []vec), sumsPerColumn int) {
	values := "sums"
	if sumsPerColumn == 2 {
		values = "sums, others"
	}
	if strings.Contains(does, "shift") {
		values = "shift, " + values
	}
	TEXT(name+"AVX2", NOSPLIT, fmt.Sprintf("func(blocks, rows, stride int, %s *float32, %s *float64)", inputs, values))
	Pragma("noescape")
	Doc(fmt.Sprintf("%sAVX2 %s, which are %d·blocks values and stride bytes apart, and adds that to sums.", name, does, block))
	blocks, stride := GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("stride"), stride)
	pointers := map[string]reg.GPVirtual{}
	for _, p := range strings.Split(inputs+", "+values, ", ") {
		pointers[p] = GP64()
		Load(Param(p), pointers[p])
	}
	sources := strings.Split(inputs, ", ")

	Label("block")
	var sums [block / 4][]vec
	for i := range sums {
		for range sumsPerColumn {
			sums[i] = append(sums[i], zeros())
		}
	}
	rows := GP64()
	Load(Param("rows"), rows)
	var at []reg.GPVirtual
	for _, p := range sources {
		at = append(at, GP64())
		MOVQ(pointers[p], at[len(at)-1])
	}
	Label("row")
	for i := range sums {
		var in []vec
		for _, p := range at {
			in = append(in, YMM())
			VCVTPS2PD(Mem{Base: p, Disp: 16 * i}, in[len(in)-1])
		}
		body(in, Mem{Base: pointers["shift"], Disp: 32 * i}, sums[i])
	}
	for _, p := range at {
		ADDQ(stride, p)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	for i := range sums {
		for j, p := range []string{"sums", "others"}[:sumsPerColumn] {
			to, sum := Mem{Base: pointers[p], Disp: 32 * i}, sums[i][j]
			VADDPD(to, sum, sum)
			VMOVUPD(sum, to)
		}
	}
	for _, p := range sources {
		ADDQ(U8(4*block), pointers[p])
	}
	for _, p := range strings.Split(values, ", ") {
		SUBQ(I8(-8*block), pointers[p])
	}
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}
