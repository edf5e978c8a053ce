//go:build amd64 || arm64

package kernel

// The innermost loops of a product on vectors: which generated function computes which
// part of a panel.

// tileFunc is a generated function that computes C = alpha·A·B + beta·C for a number of tiles, one
// below the other; its name ends with the rows of a tile. Sums have k terms. In values, rs, cs and
// as lead from row to row, column to column and tile to tile of A, ldb and ldc from row to row of B
// and C. cols is the columns of C.
type tileFunc func(tiles, k int, a *float32, rs, cs, as int, b *float32, ldb int, c *float32, ldc, cols int, alpha, beta float32)

// tileSet holds the tileFuncs of one instruction set: for each width functions for 1, 2, … rows.
// widths are the most columns that each takes, the widest first.
type tileSet struct {
	widths []int
	funcs  []tileFunc
}

// panel implements kernelSet.panel. The callers have checked the bounds.
func (s *tileSet) panel(a blockA, b blockB, c blockC, alpha, beta float32) {
	height, width := len(s.funcs)/len(s.widths), len(s.widths)-1
	for s.widths[width] < c.cols {
		width--
	}
	funcs := s.funcs[width*height:]
	tiles, rest := c.rows/height, c.rows%height
	if tiles > 0 {
		funcs[height-1](tiles, c.depth, &a.data[0], a.rowStride, a.colStride, a.tileStride,
			&b.data[0], b.stride, &c.data[0], c.stride, c.cols, alpha, beta)
	}
	if rest > 0 {
		funcs[rest-1](1, c.depth, &a.data[tiles*a.tileStride], a.rowStride, a.colStride, a.tileStride,
			&b.data[0], b.stride, &c.data[tiles*height*c.stride], c.stride, c.cols, alpha, beta)
	}
}
