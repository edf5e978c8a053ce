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

// dotSet holds the generated functions of one instruction set that multiply rows: tile for
// rows×dotCols products, row for 1×dotCols, column for rows×1, single for one. Each row of A and B
// is blocks vectors of lanes values.
type dotSet struct {
	lanes, rows               int
	tile, row, column, single func(blocks int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
}

// dotCols is how many rows of B meet the rows of A in a tile.
const dotCols = 5

// products implements kernelSet.dots. The caller has checked the bounds.
func (s *dotSet) products(c []float32, ldc, rows, cols, k int, a []float32, lda int, b []float32, ldb int) {
	for i, height := 0, 0; i < rows; i += height {
		several, one := s.row, s.single
		if height = 1; rows-i >= s.rows {
			several, one, height = s.tile, s.column, s.rows
		}
		for j, width := 0, 0; j < cols; j += width {
			tile := one
			if width = 1; cols-j >= dotCols {
				tile, width = several, dotCols
			}
			tile(k/s.lanes, &a[i*lda], lda, &b[j*ldb], ldb, &c[i*ldc+j], ldc)
		}
	}
}
