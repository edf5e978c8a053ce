package main

import "fmt"

// products writes the innermost loops of products of matrices, and the transposition for packing.
// A tile is 8×12: 24 accumulators, 3 registers for B, one for what is made of them, 4 for A, of 32.
func products() {
	for _, pairs := range []bool{false, true} {
		for _, w := range widths {
			for rows := 1; rows <= 8; rows++ {
				t := &tile{function: begin(fmt.Sprint(map[bool]string{false: "tile", true: "pairs"}[pairs], "NEON", w.name, rows),
					"(tiles, k int, a *float32, rs, cs, as int, b *float32, ldb int, c *float32, ldc, cols int, alpha, beta float32)",
					fmt.Sprintf("is a tileFunc for tiles of %d rows.", rows)), width: w, rows: rows, pairs: pairs}
				t.write()
			}
		}
	}
	transpose()
	multiplyAdds()
}

// width is how the columns of a tile are held. Where there are several vectors, the last one begins
// four columns before the end: columns that it shares with another get the same values in both.
type width struct {
	name             string
	vectors, columns int // columns of a vector
}

var widths = []width{{"Three", 3, 4}, {"Two", 2, 4}, {"One", 1, 4}, {"Columns3", 1, 3}, {"Columns2", 1, 2}, {"Columns1", 1, 1}}

// tile writes the function for tiles of that many rows, one below the other. Those of pairs hold
// two integers of 16 bits in every word, and add the products of both.
type tile struct {
	*function
	width
	rows  int
	pairs bool
}

// The registers of a tile. Elements of A have to be among the first 16 for smlal.
const (
	elementsA vec = 0 // 4 of them, in turn
	sums      vec = 4
	vectorsB  vec = 28
)

func (t *tile) write() {
	t.bytes("rs", "cs", "as", "ldb", "ldc")
	t.x("SUB $4, {cols}") // to where the last vector begins
	t.bytes("cols")
	t.register("at", "row", "left")
	for r := range t.rows {
		t.register(fmt.Sprint("row", r))
	}
	t.loop("tiles", func() {
		for v := range t.rows * t.vectors {
			t.v("movi v%d.2d, #0", sums+vec(v))
		}
		t.x("MOVD {a}, {row0}")
		for r := 1; r < t.rows; r++ {
			t.x(fmt.Sprintf("ADD {rs}, {row%d}, {row%d}", r-1, r))
		}
		t.x("MOVD ZR, {at}")
		t.x("MOVD {b}, {row}")
		t.x("MOVD {k}, {left}")
		t.x("CBZ {left}, store")
		t.loop("left", func() {
			for v := range t.vectors {
				t.access("ldr", vectorsB+vec(v), "row", v)
			}
			t.x("ADD {ldb}, {row}")
			t.multiply()
			t.x("ADD {cs}, {at}")
		})
		t.x("store:")
		t.storeAll()
		t.x("ADD {as}, {a}")
	})
}

// access loads or stores vector v of a row of B or C, which begins at the register base.
func (t *tile) access(move string, register vec, base string, v int) {
	switch {
	case v > 0 && v == t.vectors-1:
		t.v(move+" q%d, [{"+base+"}, {cols}]", register)
	case t.columns == 4:
		t.v(move+" q%d, [{"+base+"}, #%d]", register, 16*v)
	case t.columns == 1:
		t.v(move+" s%d, [{"+base+"}, #0]", register)
	default:
		t.v(move+" d%d, [{"+base+"}, #0]", register)
		if t.columns == 3 {
			t.x("ADD $8, {" + base + "}, {cols}")
			t.v(map[string]string{"ldr": "ld1", "str": "st1"}[move]+" {v%d.s}[2], [{cols}]", register)
		}
	}
}

// multiply adds the products of one column of A and one row of B to the sums of the tile. Pairs of
// B are taken apart first, the lower and the upper integers of two vectors at a time.
func (t *tile) multiply() {
	const b0, b1, b2, b3 = vectorsB, vectorsB + 1, vectorsB + 2, vectorsB + 3
	halves := [2][2]vec{{b0, b3}, {b2, b1}}
	if t.pairs {
		t.into(b3, "uzp2", "8h", b0, b1)
		t.into(b0, "uzp1", "8h", b0, b1)
	}
	if t.pairs && t.vectors == 3 {
		t.into(b1, "uzp2", "8h", b2, b2)
		t.into(b2, "uzp1", "8h", b2, b2)
	}
	for r := range t.rows {
		a := elementsA + vec(r%4)
		t.v(fmt.Sprintf("ldr s%%d, [{row%d}, {at}]", r), a)
		for v := range t.vectors {
			sum := sums + vec(r*t.vectors+v)
			if !t.pairs {
				t.v("fmla v%d.4s, v%d.4s, v%d.s[0]", sum, vectorsB+vec(v), a)
				continue
			}
			for half, b := range halves[v/2] {
				t.v([]string{"smlal v%d.4s, v%d.4h", "smlal2 v%d.4s, v%d.8h"}[v%2]+", v%d.h[%d]", sum, b, a, half)
			}
		}
	}
}

// storeAll adds beta·C to alpha times the sums, writes the tile, and leaves c at the tile below it.
func (t *tile) storeAll() {
	const alpha, beta = elementsA, elementsA + 1
	each := func(base string, visit func(sum vec, v int)) {
		for r := range t.rows {
			for v := range t.vectors {
				visit(sums+vec(r*t.vectors+v), v)
			}
			t.x("ADD {ldc}, {" + base + "}")
		}
	}
	t.x("FMOVS "+t.arguments["alpha"]+", F%d", alpha)
	t.x("FMOVS "+t.arguments["beta"]+", F%d", beta)
	for v := range t.rows * t.vectors {
		if !t.pairs {
			t.v("fmul v%d.4s, v%d.4s, v%d.s[0]", sums+vec(v), sums+vec(v), alpha)
		}
	}
	t.x("FCMPS $(0.0), F%d", beta)
	t.x("BEQ overwrite")
	t.x("MOVD {c}, {row}")
	each("row", func(sum vec, v int) {
		old := vectorsB + vec(v)
		t.access("ldr", old, "row", v)
		if t.pairs {
			t.into(sum, "add", "4s", sum, old)
		} else {
			t.v("fmla v%d.4s, v%d.4s, v%d.s[0]", sum, old, beta)
		}
	})
	t.x("overwrite:")
	each("c", func(sum vec, v int) { t.access("str", sum, "c", v) })
}

// transpose writes the function that transposes 4 rows, 4 columns at a time.
func transpose() {
	f := begin("transpose4NEON", "(blocks int, dst *float32, dstStride int, src *float32, srcStride int)",
		"writes 4 rows of 4·blocks columns as columns of 4; strides are values.")
	f.bytes("dstStride", "srcStride")
	f.register("row")
	f.loop("blocks", func() {
		var rows, halves [4]vec
		f.x("MOVD {src}, {row}")
		for i := range rows {
			rows[i] = f.load("row", 0)
			f.x("ADD {srcStride}, {row}")
		}
		for i := range halves {
			halves[i] = f.s([]string{"trn1", "trn2"}[i%2], rows[i/2*2], rows[i/2*2+1])
		}
		for i := range rows {
			f.store(f.d([]string{"trn1", "trn2"}[i/2], halves[i%2], halves[2+i%2]), "dst", 0)
			f.x("ADD {dstStride}, {dst}")
		}
		f.x("ADD $16, {src}")
	})
}

func multiplyAdds() {
	const chains = 24
	f := begin("multiplyAddsNEON", "(rounds int)", fmt.Sprintf("runs rounds of %d independent multiply-adds of 4 float32 values.", chains))
	var totals []vec
	factor := f.zero()
	for range chains {
		totals = append(totals, f.zero())
	}
	f.loop("rounds", func() {
		for _, total := range totals {
			f.into(total, "fmla", "4s", factor, factor)
		}
	})
}
