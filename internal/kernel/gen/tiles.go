package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// target is what the generator has to know about an instruction set.
type target struct {
	name  string
	rows  int // of C in one tile
	lanes int // float32 values in a register

	dotRows int // of the first matrix in one tile of dots
}

var (
	// 6×16: 12 accumulators, 2 registers for B and 1 for A, of 16.
	avx2 = target{name: "AVX2", rows: 6, lanes: 8, dotRows: 2}
	// 12×32: 24 accumulators, 2 registers for B and 1 for A, of 32.
	avx512 = target{name: "AVX512", rows: 12, lanes: 16, dotRows: 4}
)

// width is how the columns of a tile are held.
type width struct {
	name    string
	vectors int
	// masked says that the last vector is partly used. AVX-512 masks cost
	// nothing, but full tiles are kept free of them for both.
	masked bool
}

var widths = []width{
	{"Full", 2, false}, // all columns of two vectors
	{"Long", 2, true},  // more than one vector, not all of the second
	{"Short", 1, true}, // one vector or less
}

// groupRows is how many rows of A one pointer reaches: with the row stride s the
// addresses p, p+s, p+2s, p+3s, p+4s, p+5s need the index registers s, 3s and 5s.
const groupRows = 6

// tiles writes one function for every number of rows and every width. They all
// compute, for tiles one below the other,
//
//	C = alpha·A·B + beta·C
//
// and differ in the shape of the tile alone. Those of pairs do the same with words that hold two
// integers of 16 bits each: the product of two words is the sum of two products, in 32 bits, alpha
// is 1, and beta 0 or 1.
func tiles(t target) {
	for _, pairs := range []bool{false, true} {
		for _, w := range widths {
			for rows := 1; rows <= t.rows; rows++ {
				tile(t, w, rows, pairs)
			}
		}
	}
	dots(t)
	limit(t)
}

// tile writes the function for tiles of that many rows: one below the other, each a loop over k.
func tile(t target, w width, rows int, pairs bool) {
	g := &tileWriter{target: t, width: w, rows: rows, pairs: pairs}
	name := "tile"
	if pairs {
		name = "pairs"
	}
	TEXT(fmt.Sprintf("%s%s%s%d", name, t.name, w.name, rows), NOSPLIT,
		"func(tiles, k int, a *float32, rs, cs, as int, b *float32, ldb int, c *float32, ldc, cols int, alpha, beta float32)")
	g.loadArguments()

	Label("tile")
	g.clearAccumulators()
	g.startTile()
	TESTQ(g.k, g.k)
	JZ(LabelRef("store"))
	Label("loop")
	g.multiplyAdd()
	DECQ(g.k)
	JNZ(LabelRef("loop"))

	Label("store")
	g.store()
	DECQ(g.tiles)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// tileWriter holds the registers of the function being written.
type tileWriter struct {
	target
	width
	rows  int
	pairs bool

	tiles, k       reg.GPVirtual
	a              []reg.GPVirtual // one pointer per groupRows rows
	rs, rs3, rs5   reg.GPVirtual   // row stride of A in bytes, and multiples
	cs             reg.GPVirtual   // column stride of A in bytes
	b, ldb, c, ldc reg.GPVirtual
	maskVector     reg.VecVirtual // AVX2
	maskBits       reg.OpmaskVirtual
	accumulators   [][]reg.VecVirtual
}

func (t target) vector() reg.VecVirtual {
	if t.lanes == 16 {
		return ZMM()
	}
	return YMM()
}

func loadBytes(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	SHLQ(U8(2), r)
	return r
}

func (g *tileWriter) loadArguments() {
	g.tiles = GP64()
	Load(Param("tiles"), g.tiles)
	g.rs = loadBytes("rs")
	g.rs3, g.rs5 = GP64(), GP64()
	LEAQ(Mem{Base: g.rs, Index: g.rs, Scale: 2}, g.rs3)
	LEAQ(Mem{Base: g.rs, Index: g.rs, Scale: 4}, g.rs5)
	g.cs, g.ldb, g.ldc = loadBytes("cs"), loadBytes("ldb"), loadBytes("ldc")
	g.c = GP64()
	Load(Param("c"), g.c)
	if g.masked {
		g.loadMask()
	}
	g.k, g.b = GP64(), GP64()
	for row := 0; row < g.rows; row += groupRows {
		g.a = append(g.a, GP64())
	}
}

// lastColumns returns a register with the number of columns in the last vector of a row.
func (g *tileWriter) lastColumns() reg.GPVirtual {
	cols := GP64()
	Load(Param("cols"), cols)
	if g.vectors == 2 {
		SUBQ(U8(g.lanes), cols)
	}
	return cols
}

// loadMask sets maskVector, or maskBits with AVX-512, to the mask of the last vector of a row.
func (g *tileWriter) loadMask() {
	if g.lanes == 8 {
		g.maskVector = firstLanes(g.lastColumns())
		return
	}
	// The lowest cols bits of -1 shifted from the left.
	bits, shift := GP64(), reg.RCX
	MOVQ(I32(-1), bits)
	MOVQ(g.lastColumns(), shift)
	SHLQ(reg.CL, bits)
	NOTQ(bits)
	g.maskBits = K()
	KMOVW(bits.As32(), g.maskBits)
}

// clear makes v zero.
func (t target) clear(v reg.VecVirtual) {
	if t.lanes == 16 {
		VPXORD(v, v, v) // VXORPS needs AVX512DQ at this width
		return
	}
	VXORPS(v, v, v)
}

func (g *tileWriter) clearAccumulators() {
	for row := range g.rows {
		if len(g.accumulators) <= row {
			g.accumulators = append(g.accumulators, nil)
		}
		for range g.vectors {
			v := g.vector()
			g.clear(v)
			g.accumulators[row] = append(g.accumulators[row], v)
		}
	}
}

// startTile sets the pointers to the first column of A and row of B, and moves the argument a to
// the tile after this one.
func (g *tileWriter) startTile() {
	Load(Param("k"), g.k)
	Load(Param("b"), g.b)
	Load(Param("a"), g.a[0])
	if len(g.a) > 1 {
		LEAQ(Mem{Base: g.a[0], Index: g.rs3, Scale: 2}, g.a[1])
	}
	step := loadBytes("as")
	next, err := Param("a").Resolve()
	if err != nil {
		panic(err)
	}
	ADDQ(g.a[0], step)
	MOVQ(step, next.Addr)
	g.prefetch()
}

// prefetch asks for the tile of C, whose rows are too far apart for the processor to foresee.
func (g *tileWriter) prefetch() {
	at := GP64()
	MOVQ(g.c, at)
	for row := range g.rows {
		for v := range g.vectors {
			PREFETCHT0(Mem{Base: at, Disp: 4 * g.lanes * v})
		}
		if row < g.rows-1 {
			ADDQ(g.ldc, at)
		}
	}
}

// element returns the address of row row of A in the current column.
func (g *tileWriter) element(row int) Mem {
	base := g.a[row/groupRows]
	switch row % groupRows {
	case 0:
		return Mem{Base: base}
	case 1:
		return Mem{Base: base, Index: g.rs, Scale: 1}
	case 2:
		return Mem{Base: base, Index: g.rs, Scale: 2}
	case 3:
		return Mem{Base: base, Index: g.rs3, Scale: 1}
	case 4:
		return Mem{Base: base, Index: g.rs, Scale: 4}
	default:
		return Mem{Base: base, Index: g.rs5, Scale: 1}
	}
}

// multiplyAdd adds the products of one column of A and one row of B to the sums of the tile.
func (g *tileWriter) multiplyAdd() {
	var b []reg.VecVirtual
	for v := range g.vectors {
		b = append(b, g.vector())
		g.loadVector(Mem{Base: g.b, Disp: 4 * g.lanes * v}, b[v], v)
	}
	ADDQ(g.ldb, g.b)
	a, product := g.vector(), reg.VecVirtual(nil)
	if g.pairs && g.lanes == 8 {
		product = g.vector()
	}
	for row := range g.rows {
		VBROADCASTSS(g.element(row), a)
		for v := range g.vectors {
			switch sum := g.accumulators[row][v]; {
			case !g.pairs:
				VFMADD231PS(a, b[v], sum)
			case product == nil:
				VPDPWSSD(a, b[v], sum) // of AVX512_VNNI; it wraps, as the two of AVX2 do
			default:
				VPMADDWD(a, b[v], product)
				VPADDD(product, sum, sum)
			}
		}
	}
	for _, pointer := range g.a {
		ADDQ(g.cs, pointer)
	}
}

// isMasked reports whether vector v of a row is masked.
func (g *tileWriter) isMasked(v int) bool { return g.masked && v == g.vectors-1 }

// loadVector loads vector v of a row; columns that are masked out are not read and become zero.
func (g *tileWriter) loadVector(m Mem, to reg.VecVirtual, v int) {
	switch {
	case !g.isMasked(v):
		VMOVUPS(m, to)
	case g.lanes == 16:
		VMOVUPS_Z(m, g.maskBits, to)
	default:
		VMASKMOVPS(m, g.maskVector, to)
	}
}

// storeVector stores vector v of a row at g.c; columns that are masked out are
// not written. last is the number of columns of the last vector.
func (g *tileWriter) storeVector(from reg.VecVirtual, v int, last reg.GPVirtual) {
	to := Mem{Base: g.c, Disp: 4 * g.lanes * v}
	switch {
	case !g.isMasked(v):
		VMOVUPS(from, to)
	case g.lanes == 16:
		VMOVUPS(from, g.maskBits, to)
	default:
		storePieces(from, to, last)
	}
}

// store adds beta·C to alpha times the sums, writes the tile, and leaves c at the tile below it.
func (g *tileWriter) store() {
	if !g.pairs {
		alpha := g.vector()
		address, err := Param("alpha").Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSS(address.Addr, alpha)
		for row := range g.rows {
			for v := range g.vectors {
				VMULPS(alpha, g.accumulators[row][v], g.accumulators[row][v])
			}
		}
	}

	// beta is ±0 when nothing is left without its sign.
	beta, err := Param("beta").Resolve()
	if err != nil {
		panic(err)
	}
	bits := GP32()
	MOVL(beta.Addr, bits)
	SHLL(U8(1), bits)
	JZ(LabelRef("overwrite"))
	scale := g.vector()
	VBROADCASTSS(beta.Addr, scale)
	old := g.vector()
	at := GP64()
	MOVQ(g.c, at)
	for row := range g.rows {
		for v := range g.vectors {
			g.loadVector(Mem{Base: at, Disp: 4 * g.lanes * v}, old, v)
			if sum := g.accumulators[row][v]; g.pairs {
				VPADDD(old, sum, sum)
			} else {
				VFMADD231PS(scale, old, sum)
			}
		}
		ADDQ(g.ldc, at)
	}
	Label("overwrite")
	var last reg.GPVirtual
	if g.masked && g.lanes == 8 {
		last = g.lastColumns()
	}
	for row := range g.rows {
		for v := range g.vectors {
			g.storeVector(g.accumulators[row][v], v, last)
		}
		ADDQ(g.ldc, g.c)
	}
}
