package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowwise writes the kernels that treat all rows of a matrix alike, with one value
// or several for each channel.
func rowwise() {
	rows("addBias", "x + bias", []string{"x"}, []string{"bias"}, func(in []vec, at func(int) Op) vec {
		return add(at(0), in[0])
	})
	rows("scaleChannels", "x·gain", []string{"x"}, []string{"gain"}, func(in []vec, at func(int) Op) vec {
		return mul(at(0), in[0])
	})
	rows("scaleShift", "x·gain + shift", []string{"x"}, []string{"gain", "shift"}, func(in []vec, at func(int) Op) vec {
		shift := YMM()
		VMOVUPS(at(1), shift)
		VFMADD231PS(at(0), in[0], shift)
		return shift
	})
	rows("normalise", "(x - mean)·scale + rest", []string{"x"}, []string{"mean", "scale", "rest"}, func(in []vec, at func(int) Op) vec {
		rest := YMM()
		VMOVUPS(at(2), rest)
		VSUBPS(at(0), in[0], in[0])
		VFMADD231PS(at(1), in[0], rest)
		return rest
	})
	rows("normaliseGrad", "x·slope + (d·scale + rest)", []string{"x", "d"}, []string{"slope", "scale", "rest"}, func(in []vec, at func(int) Op) vec {
		sum := YMM()
		VMOVUPS(at(2), sum)
		VFMADD231PS(at(1), in[1], sum)
		VFMADD231PS(at(0), in[0], sum)
		return sum
	})
	addExcess(avx2)
	addExcess(avx512)
}

// rows writes a function over n ≥ 1 elements in rows of the given number of channels, of which the
// last may be cut. at(i) gives the body eight channels of the i-th of the values, in memory or a
// register that it must not change.
func rows(name, formula string, inputs, values []string, body func(in []vec, at func(int) Op) vec) {
	signature := "func(n, channels int, dst"
	for _, p := range append(inputs, values...) {
		signature += ", " + p
	}
	TEXT(name+"AVX2", NOSPLIT, signature+" *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%sAVX2 computes %s, the last with one element for each channel.", name, formula))
	n, channels, dst := GP64(), GP64(), GP64()
	Load(Param("n"), n)
	Load(Param("channels"), channels)
	Load(Param("dst"), dst)
	pointers := func(names []string) (all []reg.GPVirtual) {
		for _, p := range names {
			all = append(all, GP64())
			Load(Param(p), all[len(all)-1])
		}
		return all
	}
	sources, perChannel := pointers(inputs), pointers(values)

	Label("row")
	length, index, whole := GP64(), GP64(), GP64()
	MOVQ(n, length)
	CMPQ(length, channels)
	CMOVQGT(channels, length)
	SUBQ(length, n)
	MOVQ(length, whole)
	ANDQ(I8(-8), whole)
	XORQ(index, index)

	for _, vectors := range []int{unroll, 1} {
		loop, end := fmt.Sprintf("loop%d", vectors), fmt.Sprintf("end%d", vectors)
		limit := GP64()
		LEAQ(Mem{Base: index, Disp: 8 * vectors}, limit)
		CMPQ(limit, whole)
		JG(LabelRef(end))
		Label(loop)
		for v := range vectors {
			place := func(p reg.GPVirtual) Mem { return Mem{Base: p, Index: index, Scale: 4, Disp: 32 * v} }
			var in []vec
			for _, p := range sources {
				in = append(in, YMM())
				VMOVUPS(place(p), in[len(in)-1])
			}
			VMOVUPS(body(in, func(i int) Op { return place(perChannel[i]) }), place(dst))
		}
		ADDQ(I8(8*vectors), index)
		ADDQ(I8(8*vectors), limit)
		CMPQ(limit, whole)
		JLE(LabelRef(loop))
		Label(end)
	}

	left := GP64()
	MOVQ(length, left)
	SUBQ(whole, left)
	JZ(LabelRef("next"))
	lanes := GP64()
	MOVQ(left, lanes)
	mask := firstLanes(lanes)
	masked := func(p reg.GPVirtual) vec {
		y := YMM()
		VMASKMOVPS(Mem{Base: p, Index: index, Scale: 4}, mask, y)
		return y
	}
	var in []vec
	for _, p := range sources {
		in = append(in, masked(p))
	}
	storePieces(body(in, func(i int) Op { return masked(perChannel[i]) }), Mem{Base: dst, Index: index, Scale: 4}, left)

	Label("next")
	for _, p := range append(sources, dst) {
		LEAQ(Mem{Base: p, Index: length, Scale: 4}, p)
	}
	TESTQ(n, n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
