package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// pooling writes the inner loop of max pooling.
func pooling() {
	TEXT("keepLargerAVX2", NOSPLIT, "func(blocks int, best *float32, where *int32, x *float32, at int32)")
	Pragma("noescape")
	Doc("keepLargerAVX2 is keepLarger over 8·blocks channels.")
	blocks, best, where, x := GP64(), GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("best"), best)
	Load(Param("where"), where)
	Load(Param("x"), x)
	first, at := GP32(), YMM()
	Load(Param("at"), first)
	VMOVD(first, at.AsX())
	VPBROADCASTD(at.AsX(), at)
	VPADDD(firstIndices(), at, at)

	Label("loop")
	v, old, larger, unordered, place := YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: x}, v)
	VMOVUPS(Mem{Base: best}, old)
	VCMPPS(U8(greaterThan), old, v, larger)
	VCMPPS(U8(notANumber), v, v, unordered)
	VORPS(unordered, larger, larger)
	VBLENDVPS(larger, v, old, old)
	VMOVUPS(old, Mem{Base: best})
	VMOVUPS(Mem{Base: where}, place)
	VBLENDVPS(larger, at, place, place)
	VMOVUPS(place, Mem{Base: where})
	eight := constant(8)
	VPADDD(eight, at, at)
	ADDQ(U8(32), x)
	ADDQ(U8(32), best)
	ADDQ(U8(32), where)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// firstIndices is the vector 0, 1, …, 7.
func firstIndices() Mem {
	m := GLOBL("firstIndices", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(i))
	}
	return m
}
