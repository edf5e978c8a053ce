package main

// integers writes the kernels that make integers of gradients, add and split them, and the sum of
// squares. They take 16 elements at a time.
func integers() {
	addRounded()
	round()
	pair()
	addShifted("addShiftedNEON", "adds x·2^shift to dst", true)
	addShifted("shiftedNEON", "writes x·2^shift to dst", false)
	split()
	sumSquares()
}

const block = 16

// halves returns the two results of an instruction that widens half a register, and of its twin for
// the upper half.
func (f *function) halves(low, high string, operands ...any) [2]vec {
	y := [2]vec{f.vec(), f.vec()}
	f.v(low, append([]any{y[0]}, operands...)...)
	f.v(high, append([]any{y[1]}, operands...)...)
	return y
}

// widen returns four float32 as float64.
func (f *function) widen(x vec) [2]vec {
	return f.halves("fcvtl v%d.2d, v%d.2s", "fcvtl2 v%d.2d, v%d.4s", x)
}

// total adds up four sums of two float64 and writes the result.
func (f *function) total(sums [4]vec, result string) {
	sum := f.d("fadd", f.d("fadd", sums[0], sums[1]), f.d("fadd", sums[2], sums[3]))
	f.x("FMOVD F%d, "+f.arguments[result], f.d("faddp", sum, sum))
}

func addRounded() {
	f := begin("addRoundedNEON", "(blocks int, sum *float64, row *float32, scale float32) (squares float64)",
		"adds the integers nearest to scale·row to sum, 16·blocks elements, and returns the sum of their squares.")
	scale, squares := f.everywhere("scale"), [4]vec{f.zero(), f.zero(), f.zero(), f.zero()}
	f.loop("blocks", func() {
		for i := range block / 4 {
			x := f.s("frintn", f.s("fmul", f.load("row", 16*i), scale))
			for half, c := range f.widen(x) {
				f.store(f.d("fadd", f.load("sum", 32*i+16*half), c), "sum", 32*i+16*half)
				f.into(squares[(2*i+half)%4], "fmla", "2d", c, c)
			}
		}
		f.advance(4*block, "row")
		f.advance(8*block, "sum")
	})
	f.total(squares, "squares")
}

func round() {
	f := begin("roundNEON", "(blocks int, dst *int16, src *float32, scale float32) (squares int64, largest float32)",
		"writes the integers nearest to scale·src to dst, 16·blocks elements, and returns the sum of their squares and the largest magnitude.")
	scale, squares, largest := f.everywhere("scale"), [2]vec{f.zero(), f.zero()}, f.zero()
	f.loop("blocks", func() {
		for i := range block / 8 {
			var wide [2]vec
			for half := range wide {
				x := f.s("fmul", f.load("src", 32*i+16*half), scale)
				f.into(largest, "fmax", "4s", largest, f.s("fabs", x))
				wide[half] = f.s("fcvtns", x)
			}
			narrow := f.vec()
			f.v("xtn v%d.4h, v%d.4s", narrow, wide[0])
			f.v("xtn2 v%d.8h, v%d.4s", narrow, wide[1])
			f.store(narrow, "dst", 16*i)
			for half, square := range f.halves("smull v%d.4s, v%d.4h, v%d.4h", "smull2 v%d.4s, v%d.8h, v%d.8h", narrow, narrow) {
				f.v("sadalp v%d.2d, v%d.4s", squares[half], square)
			}
		}
		f.advance(2*block, "dst")
		f.advance(4*block, "src")
	})
	sum := f.d("add", squares[0], squares[1])
	f.x("FMOVD F%d, "+f.arguments["squares"], f.d("addp", sum, sum))
	largest = f.s("fmaxp", largest, largest)
	f.x("FMOVS F%d, "+f.arguments["largest"], f.s("frintn", f.s("fmaxp", largest, largest)))
}

func pair() {
	f := begin("pairNEON", "(blocks int, dst *int32, first, second *int16)", "writes first and second to the halves of dst, 16·blocks elements.")
	f.loop("blocks", func() {
		for i := range block / 8 {
			first, second := f.load("first", 16*i), f.load("second", 16*i)
			f.store(f.into(f.vec(), "zip1", "8h", first, second), "dst", 32*i)
			f.store(f.into(f.vec(), "zip2", "8h", first, second), "dst", 32*i+16)
		}
		f.advance(2*block, "first", "second")
		f.advance(4*block, "dst")
	})
}

func addShifted(name, does string, add bool) {
	f := begin(name, "(blocks int, dst *int64, x *int32, shift int)", does+", 16·blocks elements.")
	shift := f.count("shift")
	f.loop("blocks", func() {
		for i := range block / 4 {
			for half, long := range f.halves("sxtl v%d.2d, v%d.2s", "sxtl2 v%d.2d, v%d.4s", f.load("x", 16*i)) {
				y := f.d("sshl", long, shift)
				if add {
					y = f.d("add", f.load("dst", 32*i+16*half), y)
				}
				f.store(y, "dst", 32*i+16*half)
			}
		}
		f.advance(4*block, "x")
		f.advance(8*block, "dst")
	})
}

func split() {
	f := begin("splitNEON", "(blocks int, whole, rest *float64, x *int64, digits int, half int64, unit float64)",
		"is Split for 16·blocks elements, with half of 2^digits and unit 2^-digits.")
	left, half, unit := f.count("digits"), f.count("half"), f.everywhere("unit")
	f.x("NEG {digits}, {digits}")
	right := f.count("digits")
	f.loop("blocks", func() {
		for i := range block / 2 {
			x := f.load("x", 16*i)
			n := f.d("sshl", f.d("add", x, half), right)
			f.store(f.d("scvtf", n), "whole", 16*i)
			f.store(f.d("fmul", f.d("scvtf", f.d("sub", x, f.d("sshl", n, left))), unit), "rest", 16*i)
		}
		f.advance(8*block, "whole", "rest", "x")
	})
}

func sumSquares() {
	f := begin("sumSquaresNEON", "(blocks int, x *float32) (sum float64)", "sums the squares of 16·blocks elements in float64.")
	sums := [4]vec{f.zero(), f.zero(), f.zero(), f.zero()}
	f.loop("blocks", func() {
		for i := range block / 4 {
			for half, c := range f.widen(f.load("x", 16*i)) {
				f.into(sums[(2*i+half)%4], "fmla", "2d", c, c)
			}
		}
		f.advance(4*block, "x")
	})
	f.total(sums, "sum")
}
