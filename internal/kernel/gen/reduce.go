package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// reductions writes the kernels that compute in float64. They take a number of
// elements that is a multiple of block.
func reductions() {
	dot()
	accumulate()
}

// block is how many elements a round of the float64 kernels takes: four sums of
// four lanes.
const block = 16

func dot() {
	TEXT("dotAVX2", NOSPLIT, "func(blocks int, x, y *float32) float64")
	Pragma("noescape")
	Doc("dotAVX2 sums the products of 16·blocks elements in float64.")
	blocks, x, y := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("x"), x)
	Load(Param("y"), y)
	var sums [block / 4]reg.VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VXORPD(sums[i], sums[i], sums[i])
	}
	Label("loop")
	for i, sum := range sums {
		u, v := YMM(), YMM()
		VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, u)
		VCVTPS2PD(Mem{Base: y, Disp: 16 * i}, v)
		VFMADD231PD(u, v, sum)
	}
	ADDQ(U8(4*block), x)
	ADDQ(U8(4*block), y)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
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

func accumulate() {
	TEXT("accumulateFloat64AVX2", NOSPLIT, "func(blocks int, dst *float64, x *float32)")
	Pragma("noescape")
	Doc("accumulateFloat64AVX2 adds 16·blocks elements of x to dst.")
	blocks, dst, x := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Label("loop")
	for i := range block / 4 {
		v := YMM()
		VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, v)
		VADDPD(Mem{Base: dst, Disp: 32 * i}, v, v)
		VMOVUPD(v, Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(U8(4*block), x)
	SUBQ(I8(-8*block), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
