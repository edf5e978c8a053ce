package main

import "math"

const (
	sqrtHalf = 0xb504f333f9de6485                      // sqrt(1/2) of 2^64
	biased   = 0x3ff0000000000000 - 0x3fe6a09e667f3bcd // bits of 1 less those of sqrt(1/2)

	// The ends of the radius words whose normals are known well enough, as in the package.
	leastRadius = 1 << 45
	nearCentre  = 1 << 34

	normalsBlock = 16
)

// noise writes addRoundedNormals, two pairs at a time: sixteen integers plus sixteen rounded normals,
// and the bits of the pairs that are in doubt. It does the same operations in the same order as the
// portable twin: the results are equal to the last bit.
func noise() {
	f := begin("addRoundedNormalsNEON",
		"(blocks int, dst, sum, rest *float64, words *uint64, doubts *uint8, deviation, certainty, spacing float64)",
		"computes dst = spacing·(sum + round(rest + deviation·normal)) and the doubts for 16·blocks values.")
	deviation, certainty, spacing := f.everywhere("deviation"), f.everywhere("certainty"), f.everywhere("spacing")
	f.loop("blocks", func() {
		certain := f.zero()
		for i := range normalsBlock / 4 {
			word := f.load("words", 16*i)
			radius := f.d("fmul", f.radius(word), deviation)
			cos, sin := f.rotation(f.load("words", 16*i+64))
			var distance [2]vec
			for half, direction := range []vec{cos, sin} {
				at := 16*i + 64*half // sines are eight values further
				x := f.into(f.load("rest", at), "fmla", "2d", radius, direction)
				n := f.d("frintn", x)
				distance[half] = f.d("fabd", x, n)
				f.store(f.into(f.zero(), "fmla", "2d", f.d("fadd", f.load("sum", at), n), spacing), "dst", at) // -0 + 0 is +0
			}
			near := f.d("fcmge", certainty, f.d("fmax", distance[0], distance[1]))
			// Words near both ends are below the threshold once nearCentre is added.
			outside := f.d("cmhi", f.bits(leastRadius+nearCentre), f.d("add", word, f.bits(nearCentre)))
			mask := f.pool(1<<(2*i), 2<<(2*i))
			f.into(certain, "orr", "16b", certain, f.b("and", mask, f.b("bic", near, outside)))
		}
		f.v("str b%d, [{doubts}], #1", f.b("bic", f.bits(0xff), f.d("addp", certain, certain)))
		f.advance(8*normalsBlock, "dst", "sum", "rest", "words")
	})
}

// fma returns y + a·b, rounded once.
func (f *function) fma(y, a, b vec) vec { return f.into(f.b("orr", y, y), "fmla", "2d", a, b) }

// choose returns a where the bits of mask are set and b elsewhere.
func (f *function) choose(mask, a, b vec) vec {
	return f.into(f.b("orr", mask, mask), "bsl", "16b", a, b)
}

// by returns the result of an instruction that takes a number, such as a shift.
func (f *function) by(number int, name, lanes string, x vec) vec {
	y := f.vec()
	f.v(name+" v%d."+lanes+", v%d."+lanes+", #%d", y, x, number)
	return y
}

// radius returns the package's function of that name, sqrt(-2 ln u), of words.
func (f *function) radius(word vec) vec {
	w := f.b("orr", word, f.bits(1))
	small := f.d("cmhi", f.bits(sqrtHalf), w)
	rounded := f.d("add", f.by(64, "ucvtf", "2d", w), f.bits(biased)) // of w·2^-64
	mantissa := f.d("add", f.b("and", rounded, f.bits(1<<52-1)), f.double(math.Sqrt2/2))
	k := f.b("and", f.d("fsub", f.double(1023), f.d("scvtf", f.by(52, "ushr", "2d", rounded))), small)
	g := f.choose(small, f.d("fsub", mantissa, f.double(1)), f.by(64, "scvtf", "2d", w))

	half := f.d("fmul", f.d("fmul", f.double(0.5), g), g)
	s := f.d("fdiv", g, f.d("fadd", f.double(2), g))
	z := f.d("fmul", s, s)
	log := f.into(f.b("orr", half, half), "fmls", "2d", s, f.fma(half, f.estrin(z, logarithm), z))
	e := f.fma(f.d("fsub", log, g), k, f.double(math.Ln2))
	return f.d("fsqrt", f.d("fadd", e, e))
}

// rotation returns cosine and sine of angles, as the package's sincos.
func (f *function) rotation(angle vec) (cos, sin vec) {
	turned := f.d("add", angle, f.bits(1<<61)) // bits 62 and 63 are the quarter
	rest := f.d("sub", f.b("and", turned, f.bits(1<<62-1)), f.bits(1<<61))
	t := f.d("fmul", f.d("scvtf", rest), f.double(2*math.Pi*0x1p-64))
	z := f.d("fmul", t, t)
	s := f.fma(t, f.estrin(z, sine), f.d("fmul", z, t))
	c := f.fma(f.into(f.double(1), "fmla", "2d", z, f.double(-0.5)), f.estrin(z, cosine), f.d("fmul", z, z))
	// Quarter 0: (c, s), 1: (-s, c), 2: (-c, -s), 3: (s, -c).
	odd, sign := f.by(0, "cmlt", "2d", f.by(1, "shl", "2d", turned)), f.bits(1<<63)
	cos = f.b("eor", f.choose(odd, s, c), f.b("and", f.d("add", turned, f.bits(1<<62)), sign))
	sin = f.b("eor", f.choose(odd, c, s), f.b("and", turned, sign))
	return cos, sin
}

// Coefficients of the package's log1p, sine and cosine, the lowest power first.
var (
	logarithm = []float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
		2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}
	sine = []float64{-1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4,
		2.75573136213857245213e-6, -2.50507477628578072866e-8, 1.58962301576546568060e-10}
	cosine = []float64{4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
		-2.75573141792967388112e-7, 2.08757008419747316778e-9, -1.13585365213876817300e-11}
)

// estrin evaluates a polynomial of degree 5 or 6 in the order of the package's estrin.
func (f *function) estrin(z vec, c []float64) vec {
	pair := func(i int) vec { return f.into(f.double(c[i]), "fmla", "2d", f.double(c[i+1]), z) }
	square, high := f.d("fmul", z, z), pair(4)
	if len(c) == 7 {
		high = f.fma(high, f.double(c[6]), square)
	}
	return f.fma(f.fma(pair(0), pair(2), square), high, f.d("fmul", square, square))
}
