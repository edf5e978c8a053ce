package kernel

// dotSet is the generated functions of one instruction set that multiply rows: for a tile of
// rows×dotCols products, and for what is left at its edges. Rows are blocks vectors long.
type dotSet struct {
	lanes, rows               int
	tile, row, column, single func(blocks int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)
}

// dotCols counts the rows of B that a tile multiplies with.
const dotCols = 5

// products is kernelSet.dots. The caller has checked the bounds.
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

var avx2Dots = dotSet{
	lanes: 8, rows: 2,
	tile: dotsAVX2Tile, row: dotsAVX2Row, column: dotsAVX2Column, single: dotsAVX2Single,
}

var avx512Dots = dotSet{
	lanes: 16, rows: 4,
	tile: dotsAVX512Tile, row: dotsAVX512Row, column: dotsAVX512Column, single: dotsAVX512Single,
}
