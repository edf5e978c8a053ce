package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// elementwise writes the kernels that treat every element alike.
func elementwise() {
	each("tanh", "y = tanh(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return tanh(in[0]) })
	each("exp", "y = exp(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return exp(in[0]) })
	each("tanhGrad", "dx = (1-y²)·dy", []string{"y", "dy"}, nil, tanhGrad)
	each("sigmoid", "y = 1/(1+exp(-x))", []string{"x"}, nil, func(in []vec, _ vec) vec { return sigmoid(in[0]) })
	each("sigmoidGrad", "dx = y·(1-y)·dy", []string{"y", "dy"}, nil, sigmoidGrad)
	each("silu", "y = x·sigmoid(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return mul(in[0], sigmoid(in[0])) })
	each("siluGrad", "dx = s·(1+x·(1-s))·dy with s = sigmoid(x)", []string{"x", "dy"}, nil, siluGrad)
	each("gelu", "y = x·Φ(x)", []string{"x"}, nil, func(in []vec, _ vec) vec { return gelu(in[0]) })
	each("geluGrad", "dx = (Φ(x)+x·φ(x))·dy", []string{"x", "dy"}, nil, geluGrad)
	each("relu", "y = max(x, 0)", []string{"x"}, nil, func(in []vec, _ vec) vec { return relu(in[0]) })
	each("reluGrad", "dx = dy where y > 0, else 0", []string{"y", "dy"}, nil, reluGrad)
	each("axpy", "y += alpha·x", []string{"y", "x"}, []string{"alpha"}, func(in []vec, alpha vec) vec {
		VFMADD231PS(alpha, in[1], in[0])
		return in[0]
	})
	each("add", "x + y", []string{"x", "y"}, nil, func(in []vec, _ vec) vec { return add(in[0], in[1]) })
}

type vec = reg.VecVirtual

// unroll is how many vectors a round of these kernels takes: enough that the cost of the loop
// itself does not show.
const unroll = 4

// each writes a function over n ≥ 1 elements: 8·unroll at a time, then eight, and the last ones
// under a mask, so that an element's result does not depend on where it stands. The result goes to
// dst, which may be one of the inputs; the scalar, if there is one, is broadcast.
func each(name, formula string, inputs, scalars []string, body func(in []vec, scalar vec) vec) {
	name += "AVX2"
	signature := "func(n int, dst"
	for _, in := range inputs {
		signature += ", " + in
	}
	signature += " *float32"
	for _, s := range scalars {
		signature += ", " + s + " float32"
	}
	TEXT(name, NOSPLIT, signature+")")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes %s.", name, formula))
	n, dst, pointers := GP64(), GP64(), []reg.GPVirtual(nil)
	Load(Param("n"), n)
	Load(Param("dst"), dst)
	for _, in := range inputs {
		pointers = append(pointers, GP64())
		Load(Param(in), pointers[len(pointers)-1])
	}
	var scalar vec
	for _, s := range scalars {
		scalar = broadcast(s)
	}

	for _, vectors := range []int{unroll, 1} {
		loop, end := fmt.Sprintf("loop%d", vectors), fmt.Sprintf("end%d", vectors)
		Label(loop)
		CMPQ(n, U8(8*vectors))
		JL(LabelRef(end))
		for v := range vectors {
			var in []vec
			for _, p := range pointers {
				in = append(in, YMM())
				VMOVUPS(Mem{Base: p, Disp: 32 * v}, in[len(in)-1])
			}
			VMOVUPS(body(in, scalar), Mem{Base: dst, Disp: 32 * v})
		}
		for _, p := range append(pointers, dst) {
			SUBQ(I32(-32*vectors), p)
		}
		SUBQ(U8(8*vectors), n)
		JMP(LabelRef(loop))
		Label(end)
	}

	TESTQ(n, n)
	JZ(LabelRef("done"))
	rest := GP64()
	MOVQ(n, rest)
	mask := firstLanes(n)
	var in []vec
	for _, p := range pointers {
		in = append(in, YMM())
		VMASKMOVPS(Mem{Base: p}, mask, in[len(in)-1])
	}
	storePieces(body(in, scalar), Mem{Base: dst}, rest)
	Label("done")
	VZEROUPPER()
	RET()
}

// broadcast returns a register with eight times the float32 parameter of this name.
func broadcast(parameter string) vec {
	address, err := Param(parameter).Resolve()
	if err != nil {
		panic(err)
	}
	y := YMM()
	VBROADCASTSS(address.Addr, y)
	return y
}

func tanhGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	slope := load(1)
	VFNMADD231PS(y, y, slope)
	return mul(slope, dy)
}

func sigmoidGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	slope := YMM()
	VMOVAPS(y, slope)
	VFNMADD231PS(y, y, slope) // y - y²
	return mul(slope, dy)
}

func siluGrad(in []vec, _ vec) vec {
	x, dy := in[0], in[1]
	s, rest := sigmoids(x)
	slope := load(1)
	VFMADD231PS(x, rest, slope)
	return mul(mul(s, slope), dy)
}

// relu keeps a NaN: of two operands that do not compare, VMAXPS returns the
// second, which is the first one written here.
func relu(x vec) vec {
	zero, y := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VMAXPS(x, zero, y)
	return y
}

// reluGrad returns dy where y > 0, 0 where y ≤ 0, and NaN where y is NaN, for y and dy in in.
func reluGrad(in []vec, _ vec) vec {
	y, dy := in[0], in[1]
	zero, positive, unordered, dx := YMM(), YMM(), YMM(), YMM()
	VXORPS(zero, zero, zero)
	VCMPPS(U8(greaterThan), zero, y, positive)
	VANDPS(dy, positive, dx)
	VCMPPS(U8(notANumber), y, y, unordered)
	VBLENDVPS(unordered, y, dx, dx)
	return dx
}

// Predicates of VCMPPS that are false or true for a NaN without a signal.
const (
	lessThan    = 0x11 // LT_OQ
	notANumber  = 0x03 // UNORD_Q
	greaterThan = 0x1e // GT_OQ
)
