package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// updates writes the update rules without a square root. They work on multiples of
// four coordinates: float32 parameters and memory, float64 sums and arithmetic.
func updates() {
	descend()
	momentum("momentumAVX2", "p -= rate·v", false)
	momentum("nesterovAVX2", "p -= rate·(g + mu·v)", true)
}

func descend() {
	TEXT("descendAVX2", NOSPLIT, "func(blocks int, p *float32, sum *float64, perBatch, decay, rate float64)")
	Pragma("noescape")
	Doc("descendAVX2 computes g = perBatch·sum + decay·p, p -= rate·g for 4·blocks values.")
	blocks, p, sum := GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("p"), p)
	Load(Param("sum"), sum)
	perBatch, decay, rate := everywhere("perBatch"), everywhere("decay"), everywhere("rate")
	Label("loop")
	x, g := YMM(), YMM()
	VCVTPS2PD(Mem{Base: p}, x)
	VMULPD(decay, x, g)
	VFMADD231PD(Mem{Base: sum}, perBatch, g)
	VFNMADD231PD(rate, g, x)
	VCVTPD2PSY(x, x.AsX())
	VMOVUPS(x.AsX(), Mem{Base: p})
	ADDQ(U8(16), p)
	ADDQ(U8(32), sum)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

func momentum(name, move string, nesterov bool) {
	TEXT(name, NOSPLIT, "func(blocks int, p, v *float32, sum *float64, perBatch, decay, mu, rate float64)")
	Pragma("noescape")
	Doc(name + " computes g = perBatch·sum + decay·p, v = mu·v + g, " + move + " for 4·blocks values.")
	blocks, p, velocity, sum := GP64(), GP64(), GP64(), GP64()
	Load(Param("blocks"), blocks)
	Load(Param("p"), p)
	Load(Param("v"), velocity)
	Load(Param("sum"), sum)
	perBatch, decay, mu, rate := everywhere("perBatch"), everywhere("decay"), everywhere("mu"), everywhere("rate")
	Label("loop")
	x, g, v := YMM(), YMM(), YMM()
	VCVTPS2PD(Mem{Base: p}, x)
	VMULPD(decay, x, g)
	VFMADD231PD(Mem{Base: sum}, perBatch, g)
	VCVTPS2PD(Mem{Base: velocity}, v)
	VFMADD213PD(g, mu, v)
	stored := XMM()
	VCVTPD2PSY(v, stored)
	VMOVUPS(stored, Mem{Base: velocity})
	if nesterov {
		VFMADD231PD(v, mu, g)
		v = g
	}
	VFNMADD231PD(rate, v, x)
	VCVTPD2PSY(x, x.AsX())
	VMOVUPS(x.AsX(), Mem{Base: p})
	ADDQ(U8(16), p)
	ADDQ(U8(16), velocity)
	ADDQ(U8(32), sum)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
