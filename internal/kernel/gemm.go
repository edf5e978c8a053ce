package kernel

import (
	"fmt"
	"sync"
)

// The product is computed as in Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (ACM TOMS 34(3), 2008), and BLIS (Van Zee and van de Geijn, ACM TOMS 41(3),
// 2015): op(B) is cut into blocks of blockDepth×blockCols and op(A) into blocks of
// blockRows×blockDepth that stay in the second-level cache; a panel of B as wide as a tile stays in
// the first-level cache while the tiles of a block of A pass. Other than there, blocks are packed
// only where that pays: the micro-kernels read A in any order and B in its own.
//
// How k is cut depends on k alone, and a tile sums in the same order whatever its
// size and whether it was packed. That makes the result independent of threads.
// Products of few, long rows take another way, packed.go, and large ones on AMX matrices.go.
const (
	blockDepth = 256
	blockRows  = 384
	blockCols  = 512
)

// Gemm computes the row-major matrix product
//
//	C = alpha · op(A) · op(B) + beta · C
//
// where op(A) is m×k, op(B) is k×n and C is m×n; op transposes where transA or
// transB is true, so A is stored m×k or k×m and B k×n or n×k.
//
// With beta zero C is overwritten whatever it holds. Alpha is multiplied in whatever its value. Row
// i of C depends on row i of op(A) only, and column j on column j of op(B): a NaN elsewhere does
// not reach it, and what is infinite may become NaN. The sum over k is taken in the same order for
// every thread count, so the result is the same bit for bit. C must not overlap A or B; A may be B.
//
// A nil pool computes on the caller; so does a call from inside [Pool.Run].
func (p *Pool) Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	p.multiply(active, transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// multiply computes the product of Gemm with the loops of one set of kernels.
func (p *Pool) multiply(set *kernelSet, transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m <= 0 || n <= 0 {
		return
	}
	if k <= 0 {
		scaleRows(c, m, n, ldc, beta)
		return
	}
	checkMatrix("A", a, lda, m, k, transA)
	checkMatrix("B", b, ldb, k, n, transB)
	checkMatrix("C", c, ldc, m, n, false)

	g := gemms.Get().(*gemm)
	g.matrixA, g.matrixB = matrixOf(a, lda, transA), matrixOf(b, ldb, transB)
	g.c, g.ldc, g.m, g.n, g.k, g.alpha, g.beta = c, ldc, m, n, k, alpha, beta
	g.kernel = set.forProduct(m, n, k)
	if g.dots() {
		p.Run(m, grainDots, g.runDots)
	} else if g.plan(p.Threads()); g.gridRows*g.gridCols == 1 {
		g.block(0, m, 0, n)
	} else {
		p.Run(g.gridRows*g.gridCols, 1, g.runBlocks)
	}
	g.done()
}

// done gives g back.
func (g *gemm) done() {
	g.matrixA.data, g.matrixB.data, g.c, g.ready = nil, nil, nil, nil
	gemms.Put(g)
}

// checkMatrix panics when data is too short for a matrix of rows×cols, stored transposed or not, or
// when stride is so small that its rows overlap.
func checkMatrix(name string, data []float32, stride, rows, cols int, transposed bool) {
	if transposed {
		rows, cols = cols, rows
	}
	if stride < cols || len(data) < (rows-1)*stride+cols {
		panic(fmt.Sprintf("kernel: matrix %s has %d values and rows %d apart, expected %d×%d", name, len(data), stride, rows, cols))
	}
}

func scaleRows(c []float32, m, n, ldc int, beta float32) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// matrix is op(A) or op(B): element (i, j) is data[i*rowStride+j*colStride], one
// of the strides being 1.
type matrix struct {
	data                 []float32
	rowStride, colStride int
}

func matrixOf(data []float32, stride int, transposed bool) matrix {
	if transposed {
		return matrix{data, 1, stride}
	}
	return matrix{data, stride, 1}
}

func (x matrix) from(i, j int) []float32 { return x.data[i*x.rowStride+j*x.colStride:] }

// gemm is one product in progress.
type gemm struct {
	matrixA, matrixB matrix
	c                []float32
	ldc              int
	m, n, k          int
	alpha, beta      float32
	kernel           *kernelSet
	packA, packB     bool
	ready            [][]float32 // B if it was packed before, for each part of k; see Packed

	// C is cut into a grid of blocks that are computed independently, all of
	// tallBlock×wideBlock but the last ones.
	gridRows, gridCols   int
	tallBlock, wideBlock int

	runBlocks, runDots func(worker, lo, hi int) // the methods blocks and dotRows, bound once
}

// gemms keeps gemm structs that no product uses, so that a call of Gemm allocates nothing.
var gemms = sync.Pool{New: func() any {
	g := new(gemm)
	g.runBlocks, g.runDots = g.blocks, g.dotRows
	return g
}}

// parallelWork is the number of multiply-adds that a thread must get, or waking it does not pay.
const parallelWork = 1 << 19

// plan decides which operands to pack and into which blocks to cut C, one where threads do not pay.
func (g *gemm) plan(threads int) {
	g.packA, g.packB = g.packing()
	g.gridRows, g.gridCols, g.tallBlock, g.wideBlock = 1, 1, g.m, g.n

	if work := g.m * g.n * g.k / parallelWork; work < threads {
		threads = work
	}
	if threads < 2 {
		return
	}
	// Blocks of columns pack all of A again, and blocks of rows B: the longer side is cut first, but
	// not into less than minBlock. Where columns are many and A is not packed there are more blocks
	// than threads, as in Run.
	rows := min(threads, max(1, g.m/minBlock))
	cols := min(threads, max(1, g.n/minBlock))
	if g.m > g.n {
		cols = (threads + rows - 1) / rows
	} else {
		if wide := g.n / blockCols; !g.packA && wide > threads {
			cols = min(wide, chunksPerWorker*threads)
		}
		rows = (threads + cols - 1) / cols
	}
	g.wideBlock = roundUp((g.n+cols-1)/cols, g.kernel.tileCols)
	g.tallBlock = roundUp((g.m+rows-1)/rows, g.kernel.tileRows)
	g.gridCols = (g.n + g.wideBlock - 1) / g.wideBlock
	g.gridRows = (g.m + g.tallBlock - 1) / g.tallBlock
}

// minBlock is the least width of a block of C, as long as its rows can be shared instead, or its
// least height as long as its columns can.
const minBlock = 128

// packing decides which operands to pack. The thresholds were measured with
// BenchmarkGemm on Zen 4; the result does not depend on them.
func (g *gemm) packing() (packA, packB bool) {
	if g.kernel.splits != nil {
		return true, true
	}
	packA = g.m >= 384 && g.n >= 512
	packB = g.m >= 192
	if g.matrixB.rowStride%256 == 0 {
		// Rows that lie a multiple of 1 KiB apart fall into few sets of the cache.
		packB = g.m >= 64
	}
	return packA, packB || g.matrixB.colStride != 1
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

func (g *gemm) blocks(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		row, col := i/g.gridCols*g.tallBlock, i%g.gridCols*g.wideBlock
		g.block(row, min(row+g.tallBlock, g.m), col, min(col+g.wideBlock, g.n))
	}
}

// block computes C for rows [i0, i1) and columns [j0, j1).
func (g *gemm) block(i0, i1, j0, j1 int) {
	var packed *packBuffers
	if g.packA || g.packB {
		packed = packs.Get().(*packBuffers)
		defer packs.Put(packed)
	}
	mostRows, mostCols := blockRows, blockCols
	if g.kernel.splits != nil {
		if mostRows, mostCols = splitRows, splitTile; i1-i0 > splitRows { // B is read more than once
			mostCols = splitCols
		}
	}
	mostCols -= mostCols % g.kernel.tileCols // a block of what was packed before begins with a panel
	beta := g.beta
	for part := range g.kernel.parts(g.k) {
		l, end := g.kernel.part(part, g.k)
		for j := j0; j < j1; j += mostCols {
			cols, b := min(mostCols, j1-j), []float32(nil)
			if g.ready != nil {
				b = g.ready[part][g.kernel.packedSize(j, end-l):]
			} else if g.packB {
				packed.b = grow(packed.b, g.kernel.packedSize(roundUp(cols, g.kernel.tileCols), end-l))
				b = packed.b
				packed.packB(g.kernel, b, g.matrixB.from(l, j), g.matrixB, end-l, cols)
			}
			for i := i0; i < i1; i += mostRows {
				rows := min(mostRows, i1-i)
				if g.packA && (j == j0 || rows < i1-i0) { // a single block of A serves all of B
					packed.packA(g.kernel, g.matrixA.from(i, l), g.matrixA, rows, end-l)
				}
				g.panels(packed, b, i, rows, j, cols, l, end-l, beta)
			}
		}
		beta = 1
	}
}

// parts returns into how many parts k is cut, and part the range of one. They are equal but for
// rounding, lest the last one be a sliver.
func (k *kernelSet) parts(depth int) int {
	if k.splits != nil {
		return ceilDiv(depth, splitDepth)
	}
	return ceilDiv(depth, blockDepth)
}

func (k *kernelSet) part(i, depth int) (from, to int) {
	parts, step := k.parts(depth), 1
	if k.splits != nil {
		step = matrixDepth
	}
	return roundUp(i*depth/parts, step), min(roundUp((i+1)*depth/parts, step), depth)
}

// packedSize returns how many values packed columns of B take.
func (k *kernelSet) packedSize(cols, depth int) int {
	if k.splits != nil {
		return cols / matrixRows * ceilDiv(depth, matrixDepth) * k.splits.parts * matrixWords
	}
	return cols * depth
}

// forProduct returns the set for a product of that size.
func (k *kernelSet) forProduct(m, n, depth int) *kernelSet {
	if k.large != nil && k.large.splits.takes(m, n, depth) {
		return k.large
	}
	return k
}

// panels computes C = alpha·A·B + beta·C for the rows×cols of C from (i, j) on, with depth columns
// of A and rows of B from number l on.
func (g *gemm) panels(packed *packBuffers, packedB []float32, i, rows, j, cols, l, depth int, beta float32) {
	if g.kernel.splits != nil {
		g.splitPanels(packed, packedB, i, rows, j, cols, depth, beta)
		return
	}
	a := blockA{g.matrixA.from(i, l), g.matrixA.rowStride, g.matrixA.colStride, g.kernel.tileRows * g.matrixA.rowStride}
	if g.packA {
		a = blockA{packed.a, 1, g.kernel.tileRows, g.kernel.tileRows * depth}
	}
	for col := 0; col < cols; col += g.kernel.tileCols {
		var b blockB
		if g.packB {
			b = blockB{packedB[col*depth:], g.kernel.tileCols}
		} else {
			b = blockB{g.matrixB.from(l, j+col), g.matrixB.rowStride}
		}
		c := blockC{g.c[i*g.ldc+j+col:], g.ldc, rows, min(g.kernel.tileCols, cols-col), depth}
		g.kernel.panel(a, b, c, g.alpha, beta)
	}
}

// packBuffers holds the packed copies of one block of A and of one block of B.
type packBuffers struct {
	a, b []float32
	rest []float32                          // see packParts
	sums [3 * splitTile * splitTile]float32 // of three weights at most, see splitPanels
}

// packs keeps the buffers between products.
var packs = sync.Pool{New: func() any { return new(packBuffers) }}

// packB copies depth×cols of op(B) from src into panels as wide as a tile, one after the other,
// each row by row. What is right of the last column is left undefined.
func (p *packBuffers) packB(k *kernelSet, dst, src []float32, layout matrix, depth, cols int) {
	if k.splits != nil {
		p.packParts(k, dst, src, layout.colStride, layout.rowStride, cols, depth, false)
		return
	}
	for col := 0; col < cols; col += k.tileCols {
		packStrips(k, dst[col*depth:], k.tileCols, src[col*layout.colStride:], layout.rowStride, layout.colStride, depth, min(k.tileCols, cols-col))
	}
}

// packA copies rows×depth of op(A) from src into tiles, one after the other, each column by column.
func (p *packBuffers) packA(k *kernelSet, src []float32, layout matrix, rows, depth int) {
	if k.splits != nil {
		p.a = grow(p.a, k.packedSize(roundUp(rows, k.tileRows), depth))
		p.packParts(k, p.a, src, layout.rowStride, layout.colStride, rows, depth, true)
		return
	}
	p.a = grow(p.a, roundUp(rows, k.tileRows)*depth)
	for row := 0; row < rows; row += k.tileRows {
		packStrips(k, p.a[row*depth:], k.tileRows, src[row*layout.rowStride:], layout.colStride, layout.rowStride, depth, min(k.tileRows, rows-row))
	}
}

// packStrips copies count strips of width values: value w of strip s goes from
// src[s*stripStride+w*valueStride] to dst[s*pitch+w]. One of the two strides of src is 1.
func packStrips(k *kernelSet, dst []float32, pitch int, src []float32, stripStride, valueStride, count, width int) {
	switch {
	case valueStride != 1:
		k.transpose(dst, pitch, src, valueStride, width, count)
	case width == pitch:
		active.copyRuns(count, 1, width, dst, src, stripStride, 0)
	default:
		for s := range count {
			copy(dst[s*pitch:s*pitch+width], src[s*stripStride:])
		}
	}
}

// grow returns a buffer of n values, which hold anything: buffer itself if it is large enough.
func grow(buffer []float32, n int) []float32 {
	if cap(buffer) < n {
		return make([]float32, n)
	}
	return buffer[:n]
}
