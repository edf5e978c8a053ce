package main

import (
	"math"
	"strings"
)

// elementwise writes the kernels that treat every element alike, after the package's own functions,
// with fused multiply-adds.
func elementwise() {
	each("exp", "y = exp(x)", "x", func(f *function, in []vec) vec { return f.exp(in[0]) })
	each("tanh", "y = tanh(x)", "x", func(f *function, in []vec) vec { return f.tanh(in[0]) })
	each("tanhGrad", "dx = (1-y²)·dy", "y, dy", func(f *function, in []vec) vec {
		return f.s("fmul", f.plus(f.single(1), "fmls", in[0], in[0]), in[1])
	})
	each("sigmoid", "y = 1/(1+exp(-x))", "x", func(f *function, in []vec) vec {
		s, _ := f.sigmoids(in[0])
		return s
	})
	each("sigmoidGrad", "dx = y·(1-y)·dy", "y, dy", func(f *function, in []vec) vec {
		return f.s("fmul", f.plus(f.b("orr", in[0], in[0]), "fmls", in[0], in[0]), in[1])
	})
	each("silu", "y = x·sigmoid(x)", "x", func(f *function, in []vec) vec {
		s, _ := f.sigmoids(in[0])
		return f.s("fmul", in[0], s)
	})
	each("siluGrad", "dx = s·(1+x·(1-s))·dy with s = sigmoid(x)", "x, dy", func(f *function, in []vec) vec {
		s, rest := f.sigmoids(in[0])
		return f.s("fmul", f.s("fmul", s, f.plus(f.single(1), "fmla", in[0], rest)), in[1])
	})
	each("gelu", "y = x·Φ(x)", "x", func(f *function, in []vec) vec { return f.gelu(in[0]) })
	each("geluGrad", "dx = (Φ(x)+x·φ(x))·dy", "x, dy", func(f *function, in []vec) vec { return f.s("fmul", f.geluSlope(in[0]), in[1]) })
	each("relu", "y = max(x, 0)", "x", func(f *function, in []vec) vec { return f.b("bic", in[0], f.s("fcmgt", f.single(0), in[0])) })
	each("reluGrad", "dx = dy where y > 0, NaN where y is, else 0", "y, dy", func(f *function, in []vec) vec {
		ordered := f.s("fcmeq", in[0], in[0])
		return f.choose(ordered, f.b("and", f.s("fcmgt", in[0], f.single(0)), in[1]), in[0])
	})
	each("add", "x + y", "x, y", func(f *function, in []vec) vec { return f.s("fadd", in[0], in[1]) })
	each("axpy", "y += alpha·x", "y, x, alpha", func(f *function, in []vec) vec { return f.plus(in[0], "fmla", in[1], in[2]) })
	rows("addBias", "y = x + bias", "bias", func(f *function, in []vec) vec { return f.s("fadd", in[0], in[1]) })
	rows("scaleChannels", "y = x∘gain", "gain", func(f *function, in []vec) vec { return f.s("fmul", in[0], in[1]) })
	rows("scaleShift", "y = x∘gain + shift", "gain, shift", func(f *function, in []vec) vec { return f.plus(in[2], "fmla", in[0], in[1]) })
}

// body computes the result of an element-wise kernel from its inputs.
type body func(f *function, in []vec) vec

// each writes a function over n ≥ 1 elements: 16 at a time, then four, then one in the first lane,
// so that an element's result does not depend on where it stands. The result goes to dst, which may
// be one of the inputs. alpha is a number, the other inputs are slices.
func each(name, formula, inputs string, result body) {
	slices, scaled := strings.CutSuffix(inputs, ", alpha")
	signature, names := "(n int, dst, "+slices+" *float32)", strings.Split(slices, ", ")
	if scaled {
		signature = "(n int, dst, " + slices + " *float32, alpha float32)"
	}
	f := begin(name+"NEON", signature, "computes "+formula+".")
	var numbers []vec
	if scaled {
		numbers = append(numbers, f.everywhere("alpha"))
	}
	f.elements("n", "dst", names, numbers, result)
}

// elements writes the loops of each over as many elements as the register count says.
func (f *function) elements(count, dst string, inputs []string, numbers []vec, result body) {
	for _, step := range []struct {
		vectors, elements int
		register          string
	}{{4, 4, "q"}, {1, 4, "q"}, {1, 1, "s"}} {
		bytes := 4 * step.elements
		f.while(count, step.vectors*step.elements, func() {
			for v := range step.vectors {
				var in []vec
				for _, name := range inputs {
					in = append(in, f.vec())
					f.v("ldr "+step.register+"%d, [{"+name+"}, #%d]", in[len(in)-1], v*bytes)
				}
				f.v("str "+step.register+"%d, [{"+dst+"}, #%d]", result(f, append(in, numbers...)), v*bytes)
			}
			for _, pointer := range append(inputs, dst) {
				f.advance(step.vectors*bytes, pointer)
			}
		})
	}
}

// rows writes a function over the elements of rows as long as perChannel, the last of which may be
// cut.
func rows(name, formula, perChannel string, result body) {
	f := begin(name+"NEON", "(n, channels int, y, x, "+perChannel+" *float32)", "computes "+formula+" for every row.")
	f.register("count")
	f.while("n", 1, func() {
		f.x("ADD $1, {n}")
		f.x("CMP {channels}, {n}")
		f.x("CSEL LT, {n}, {channels}, {count}")
		inputs := []string{"x"}
		for _, p := range strings.Split(perChannel, ", ") {
			inputs = append(inputs, p+"s")
			f.register(p + "s")
			f.x("MOVD {" + p + "}, {" + p + "s}")
		}
		f.register("left")
		f.x("SUB {count}, {n}, {left}")
		f.elements("count", "y", inputs, nil, result)
		f.x("MOVD {left}, {n}")
	})
}

// single returns a float32 in all lanes.
func (f *function) single(value float64) vec { return f.word(math.Float32bits(float32(value))) }
func (f *function) word(bits uint32) vec     { return f.bits(uint64(bits)<<32 | uint64(bits)) }

// plus adds (fmla) or subtracts (fmls) a·b and returns y, which it changes.
func (f *function) plus(y vec, name string, a, b vec) vec {
	f.into(y, name, "4s", a, b)
	return y
}

// clamp returns min(max(x, low), high), and NaN for NaN.
func (f *function) clamp(x vec, low, high float64) vec {
	return f.s("fmin", f.s("fmax", x, f.single(low)), f.single(high))
}

// polynomial evaluates a polynomial by Horner's rule, the highest power first.
func (f *function) polynomial(x vec, coefficients ...float64) vec {
	p := f.single(coefficients[0])
	for _, a := range coefficients[1:] {
		p = f.plus(f.single(a), "fmla", p, x)
	}
	return p
}

// exp follows exp32 of the package.
func (f *function) exp(x vec) vec {
	x = f.clamp(x, -104, 89)
	n := f.s("frintn", f.s("fmul", x, f.single(math.Log2E)))
	return f.scale(f.expReduced(x, n), n)
}

// expReduced returns exp(x + rest)/2^n for the integer n next to x·log₂ e.
func (f *function) expReduced(x, n vec, rest ...vec) vec {
	r := f.plus(f.b("orr", x, x), "fmls", n, f.single(0.693359375))
	f.plus(r, "fmls", n, f.single(-2.12194440e-4))
	for _, v := range rest {
		f.into(r, "fadd", "4s", r, v)
	}
	p := f.polynomial(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := f.s("fmul", r, r)
	return f.s("fadd", f.plus(r, "fmla", p, square), f.single(1))
}

// scale multiplies p by 2^n, in two factors since n may be beyond the range of an exponent.
func (f *function) scale(p, n vec) vec {
	whole := f.s("fcvtns", n)
	half := f.by(1, "sshr", "4s", whole)
	for _, e := range []vec{half, f.s("sub", whole, half)} {
		p = f.s("fmul", p, f.s("add", f.by(23, "shl", "4s", e), f.single(1))) // the bits of 1 are those of the exponent's bias
	}
	return p
}

// tanh follows tanh32 of the package.
func (f *function) tanh(x vec) vec {
	x = f.clamp(x, -9.5, 9.5)
	square := f.s("fmul", x, x)
	cube := f.s("fmul", x, square)
	p := f.polynomial(square, 1.331881627e-8, 2.058333303e-5, 3.494024742e-3, 1.337970942e-1)
	q := f.polynomial(square, 7.761944971e-7, 3.283076221e-4, 2.587103844e-2, 4.671302438e-1, 1)
	return f.clamp(f.s("fdiv", f.plus(f.b("orr", x, x), "fmla", p, cube), q), -1, 1)
}

// negative returns a mask of the lanes that have a sign.
func (f *function) negative(x vec) vec {
	return f.by(0, "cmlt", "4s", x)
}

// sigmoids returns sigmoid(x) and sigmoid(-x) without cancelling, by exp(-|x|).
func (f *function) sigmoids(x vec) (s, rest vec) {
	e := f.exp(f.s("fneg", f.s("fabs", x)))
	sum := f.s("fadd", f.single(1), e)
	larger, smaller := f.s("fdiv", f.single(1), sum), f.s("fdiv", e, sum)
	return f.choose(f.negative(x), smaller, larger), f.choose(f.negative(x), larger, smaller)
}

// gelu follows gelu32 of the package.
func (f *function) gelu(x vec) vec {
	t, p, n, above, below := f.normalTail(x)
	p = f.scale(f.s("fdiv", f.s("fmul", f.s("fmul", p, above), t), below), n)
	y := f.s("fsub", f.s("fmax", x, f.word(1<<31)), p)
	// Of all negative x, zero times -Inf alone changes the result.
	zero := f.single(0)
	return f.plus(y, "fmla", zero, f.s("fmin", x, zero))
}

// geluSlope follows geluSlope32 of the package.
func (f *function) geluSlope(x vec) vec {
	t, p, n, above, below := f.normalTail(x)
	ratio := f.plus(f.s("fdiv", above, below), "fmls", t, f.single(1/math.Sqrt(2*math.Pi)))
	tail := f.scale(f.s("fmul", p, ratio), n)
	return f.choose(f.negative(x), tail, f.s("fsub", f.single(1), tail))
}

// normalTail follows normalTail32 of the package.
func (f *function) normalTail(x vec) (t, p, n, above, below vec) {
	t = f.s("fmin", f.s("fabs", x), f.single(14.6))
	square := f.s("fmul", t, t)
	rest := f.plus(f.s("fneg", square), "fmla", t, t) // the rounding error of square
	n = f.s("frintn", f.s("fmul", square, f.single(-0.5*math.Log2E)))
	p = f.expReduced(f.s("fmul", square, f.single(-0.5)), n, f.s("fmul", rest, f.single(-0.5)))
	above = f.polynomial(t, 4.123785067e-3, 4.068353400e-2, 1.833843291e-1, 4.384961128e-1, 0.5)
	below = f.polynomial(t, 1.033667848e-2, 1.019848734e-1, 4.698644876e-1, 1.203122497, 1.674877167, 1)
	return t, p, n, above, below
}
