package main

import (
	"fmt"
	"math"
)

// transform is one of the one-dimensional transforms of Winograd's minimal filtering, with the
// formulas of its portable twin.
type transform struct {
	name            string
	inputs, outputs int
	scaled          bool // the inputs are multiplied by an argument first
	apply           func(f *function, x []vec) []vec
}

// near and far, with their negatives, 0 and ∞, are the points of the transforms of six values.
const near, far = 1 / math.Sqrt2, math.Sqrt2

var transforms = []transform{
	{"winogradWindow6", 6, 6, false, func(f *function, x []vec) []vec {
		e, g := f.minus(x[4], x[2], 2), f.minus(x[4], x[2], 1./2)
		d, h := f.minus(x[3], x[1], 2), f.minus(x[3], x[1], 1./2)
		return []vec{f.minus(f.s("fadd", x[0], x[4]), x[2], 5./2),
			f.add(e, d, near), f.minus(e, d, near), f.add(g, h, far), f.minus(g, h, far),
			f.minus(f.s("fadd", x[1], x[5]), x[3], 5./2)}
	}},
	{"winogradFilter6", 3, 6, false, func(f *function, x []vec) []vec {
		third := f.times(x[2], 1./3)
		e, d := f.add(third, x[0], 2./3), f.times(x[1], far/3)
		g, h := f.add(third, x[0], 1./6), f.times(x[1], far/6)
		return []vec{x[0], f.s("fneg", f.s("fadd", e, d)), f.s("fsub", d, e), f.s("fadd", g, h), f.s("fsub", g, h), x[2]}
	}},
	{"winogradOutput6", 6, 4, false, func(f *function, x []vec) []vec {
		sum1, difference1 := f.s("fadd", x[1], x[2]), f.s("fsub", x[1], x[2])
		sum2, difference2 := f.s("fadd", x[3], x[4]), f.s("fsub", x[3], x[4])
		return []vec{f.s("fadd", f.s("fadd", x[0], sum1), sum2),
			f.add(f.times(difference1, near), difference2, far),
			f.add(f.times(sum1, 1./2), sum2, 2),
			f.add(f.add(x[5], difference1, near/2), difference2, 2*far)}
	}},
	{"winogradWindow4", 4, 4, false, func(f *function, x []vec) []vec {
		return []vec{f.s("fsub", x[0], x[2]), f.s("fadd", x[1], x[2]), f.s("fsub", x[2], x[1]), f.s("fsub", x[1], x[3])}
	}},
	{"winogradFilter4", 3, 4, false, func(f *function, x []vec) []vec {
		outer, inner := f.times(f.s("fadd", x[0], x[2]), 1./2), f.times(x[1], 1./2)
		return []vec{x[0], f.s("fadd", outer, inner), f.s("fsub", outer, inner), x[2]}
	}},
	{"winogradOutput4", 4, 2, false, func(f *function, x []vec) []vec {
		return []vec{f.s("fadd", f.s("fadd", x[0], x[1]), x[2]), f.s("fsub", f.s("fsub", x[1], x[2]), x[3])}
	}},
	{"winogradDelta4", 2, 4, true, func(f *function, x []vec) []vec {
		return []vec{x[0], f.s("fadd", x[0], x[1]), f.s("fsub", x[0], x[1]), f.s("fneg", x[1])}
	}},
	{"winogradGradient4", 4, 3, false, func(f *function, x []vec) []vec {
		sum, difference := f.times(f.s("fadd", x[1], x[2]), 1./2), f.times(f.s("fsub", x[1], x[2]), 1./2)
		return []vec{f.s("fadd", x[0], sum), difference, f.s("fadd", sum, x[3])}
	}},
}

func (f *function) times(x vec, factor float64) vec { return f.s("fmul", x, f.single(factor)) }

// add returns y + factor·x, minus y - factor·x.
func (f *function) add(y, x vec, factor float64) vec {
	return f.plus(f.b("orr", y, y), "fmla", x, f.single(factor))
}

func (f *function) minus(y, x vec, factor float64) vec {
	return f.plus(f.b("orr", y, y), "fmls", x, f.single(factor))
}

// winograd writes the functions of the transforms: n values of every vector, four at a time, and
// then the same for the next tile.
func winograd() {
	for _, t := range transforms {
		t.write()
	}
}

func (t transform) write() {
	scale := ""
	if t.scaled {
		scale = ", scale float32"
	}
	f := begin(t.name+"NEON", "(tiles, n int, dst *float32, dstStride, dstStep int, src *[6]*float32, srcStep int"+scale+")",
		fmt.Sprintf("computes the portable twin of its name, %d vectors to %d, for n a multiple of 4.", t.inputs, t.outputs))
	f.bytes("dstStride", "dstStep", "srcStep")
	f.register("left", "from", "to")
	var factor vec
	if t.scaled {
		factor = f.everywhere("scale")
	}
	source, target := func(i int) string { return fmt.Sprint("src", i) }, func(i int) string { return fmt.Sprint("dst", i) }
	for i := range t.inputs {
		f.register(source(i))
		f.x(fmt.Sprintf("MOVD %d({src}), {%s}", 8*i, source(i)))
	}
	for i := range t.outputs {
		f.register(target(i))
		if i == 0 {
			f.x("MOVD {dst}, {dst0}")
		} else {
			f.x(fmt.Sprintf("ADD {dstStride}, {%s}, {%s}", target(i-1), target(i)))
		}
	}
	// The steps lead from the end of a tile's vectors to the next tile.
	for _, step := range []string{"srcStep", "dstStep"} {
		f.x("SUB {n}<<2, {" + step + "}")
	}
	f.x("LSR $2, {n}, {n}")
	f.x("MOVD ZR, {from}")
	f.x("MOVD ZR, {to}")
	f.loop("tiles", func() {
		f.x("MOVD {n}, {left}")
		f.loop("left", func() {
			x := make([]vec, t.inputs)
			for i := range x {
				x[i] = f.vec()
				f.v("ldr q%d, [{"+source(i)+"}, {from}]", x[i])
				if t.scaled {
					f.into(x[i], "fmul", "4s", x[i], factor)
				}
			}
			for i, y := range t.apply(f, x) {
				f.v("str q%d, [{"+target(i)+"}, {to}]", y)
			}
			f.x("ADD $16, {from}")
			f.x("ADD $16, {to}")
		})
		f.x("ADD {srcStep}, {from}")
		f.x("ADD {dstStep}, {to}")
	})
}
