package kernel

// splitSet multiplies blocks of 32×32 values of C at a time, of values taken apart.
//
// A and B are packed as matrices of matrixRows rows. One of A has 16 rows of A, and in each the
// parts of 32 values, two in a word: value l and value l+16. One of B has as many values of 16
// columns, and in a row values l and l+16 of all of them.
type splitSet struct {
	parts                            int // of a value: its block of 16 by 32 has as many matrices, of matrixWords
	leastRows, leastCols, leastDepth int // of a product that is worth it; see takes
	// split takes blocks of 16×32 values apart, and turn those whose columns lie in rows; see the
	// generated functions.
	split, turn func(blocks int, dst, src *float32, stride, second, next int)
	// product writes 32×32 sums of products, of so many blocks.
	product func(blocks int, a, b *float32, apart int, sums *float32)
	// merge computes C = alpha·sums + beta·C.
	merge func(rows, cols int, sums, c *float32, ldc int, alpha, beta float32)
}

const (
	matrixRows  = 16
	matrixDepth = 32 // values in a row, and of k in a block
	matrixWords = 256
	splitTile   = 2 * matrixRows // height and width of what product writes

	// The blocks of such products, see blockDepth.
	splitDepth = 512
	splitRows  = 256
	splitCols  = 1024
)

// takes reports whether a product is large enough. Products of float32 ask for no rows: row i of C
// must not depend on how many others there are.
func (s *splitSet) takes(m, n, k int) bool {
	return m >= s.leastRows && n >= s.leastCols && k >= s.leastDepth
}

// packParts packs lines of a block of A, its rows, or of B, its columns, into dst.
// lineStride leads from line to line, and depthStride from value to value of one.
func (p *packBuffers) packParts(k *kernelSet, dst, src []float32, lineStride, depthStride, lines, depth int, ofA bool) {
	s := k.splits
	blocks := ceilDiv(depth, matrixDepth)
	size := blocks * s.parts * matrixWords // of 16 lines
	p.rest = grow(p.rest, matrixRows*roundUp(depth, matrixDepth))
	for line := 0; line < lines; line += matrixRows {
		from, to, count := src[line*lineStride:], dst[line/matrixRows*size:], min(matrixRows, lines-line)
		done, stride, along := 0, lineStride, depthStride
		if !ofA {
			stride, along = along, stride
		}
		if split := s.split; count == matrixRows && depth >= matrixDepth {
			if along != 1 {
				split, stride = s.turn, along
			}
			done = depth / matrixDepth
			split(done, &to[0], &from[0], stride, matrixRows*depthStride, matrixDepth*depthStride)
		}
		if done == blocks {
			continue
		}
		// What is no whole block goes through a copy with zeros behind it.
		from, to = from[done*matrixDepth*depthStride:], to[done*s.parts*matrixWords:]
		left, pitch := depth-done*matrixDepth, (blocks-done)*matrixDepth
		if left < pitch {
			clear(p.rest[:matrixRows*pitch])
		}
		if ofA {
			packStrips(k, p.rest, pitch, from, lineStride, depthStride, count, left)
			s.split(blocks-done, &to[0], &p.rest[0], pitch, matrixRows, matrixDepth)
		} else {
			packStrips(k, p.rest, matrixRows, from, depthStride, lineStride, left, count)
			s.split(blocks-done, &to[0], &p.rest[0], matrixRows, matrixRows*matrixRows, matrixDepth*matrixRows)
		}
	}
}

// splitPanels does what panels does, for packed parts of A and B.
func (g *gemm) splitPanels(packed *packBuffers, packedB []float32, i, rows, j, cols, depth int, beta float32) {
	s := g.kernel.splits
	blocks := ceilDiv(depth, matrixDepth)
	size := blocks * s.parts * matrixWords
	for col := 0; col < cols; col += splitTile {
		b := &packedB[col/matrixRows*size]
		for row := 0; row < rows; row += splitTile {
			s.product(blocks, &packed.a[row/matrixRows*size], b, size, &packed.sums[0])
			s.merge(min(splitTile, rows-row), min(splitTile, cols-col), &packed.sums[0], &g.c[(i+row)*g.ldc+j+col], g.ldc, g.alpha, beta)
		}
	}
}
