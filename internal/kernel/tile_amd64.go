package kernel

// The generated functions of amd64 for products.

var avx2Tiles = tileSet{[]int{16, 15, 8}, []tileFunc{
	tileAVX2Full1, tileAVX2Full2, tileAVX2Full3, tileAVX2Full4, tileAVX2Full5, tileAVX2Full6,
	tileAVX2Long1, tileAVX2Long2, tileAVX2Long3, tileAVX2Long4, tileAVX2Long5, tileAVX2Long6,
	tileAVX2Short1, tileAVX2Short2, tileAVX2Short3, tileAVX2Short4, tileAVX2Short5, tileAVX2Short6,
}}

var avx512Tiles = tileSet{[]int{32, 31, 16}, []tileFunc{
	tileAVX512Full1, tileAVX512Full2, tileAVX512Full3, tileAVX512Full4, tileAVX512Full5, tileAVX512Full6,
	tileAVX512Full7, tileAVX512Full8, tileAVX512Full9, tileAVX512Full10, tileAVX512Full11, tileAVX512Full12,
	tileAVX512Long1, tileAVX512Long2, tileAVX512Long3, tileAVX512Long4, tileAVX512Long5, tileAVX512Long6,
	tileAVX512Long7, tileAVX512Long8, tileAVX512Long9, tileAVX512Long10, tileAVX512Long11, tileAVX512Long12,
	tileAVX512Short1, tileAVX512Short2, tileAVX512Short3, tileAVX512Short4, tileAVX512Short5, tileAVX512Short6,
	tileAVX512Short7, tileAVX512Short8, tileAVX512Short9, tileAVX512Short10, tileAVX512Short11, tileAVX512Short12,
}}

// avx2Pairs is avx2Tiles for words that hold pairs of integers, see GemmPairs.
var avx2Pairs = tileSet{[]int{16, 15, 8}, []tileFunc{
	pairsAVX2Full1, pairsAVX2Full2, pairsAVX2Full3, pairsAVX2Full4, pairsAVX2Full5, pairsAVX2Full6,
	pairsAVX2Long1, pairsAVX2Long2, pairsAVX2Long3, pairsAVX2Long4, pairsAVX2Long5, pairsAVX2Long6,
	pairsAVX2Short1, pairsAVX2Short2, pairsAVX2Short3, pairsAVX2Short4, pairsAVX2Short5, pairsAVX2Short6,
}}

var avx512Pairs = tileSet{[]int{32, 31, 16}, []tileFunc{
	pairsAVX512Full1, pairsAVX512Full2, pairsAVX512Full3, pairsAVX512Full4, pairsAVX512Full5, pairsAVX512Full6,
	pairsAVX512Full7, pairsAVX512Full8, pairsAVX512Full9, pairsAVX512Full10, pairsAVX512Full11, pairsAVX512Full12,
	pairsAVX512Long1, pairsAVX512Long2, pairsAVX512Long3, pairsAVX512Long4, pairsAVX512Long5, pairsAVX512Long6,
	pairsAVX512Long7, pairsAVX512Long8, pairsAVX512Long9, pairsAVX512Long10, pairsAVX512Long11, pairsAVX512Long12,
	pairsAVX512Short1, pairsAVX512Short2, pairsAVX512Short3, pairsAVX512Short4, pairsAVX512Short5, pairsAVX512Short6,
	pairsAVX512Short7, pairsAVX512Short8, pairsAVX512Short9, pairsAVX512Short10, pairsAVX512Short11, pairsAVX512Short12,
}}

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

var avx2Dots = dotSet{
	lanes: 8, rows: 2,
	tile: dotsAVX2Tile, row: dotsAVX2Row, column: dotsAVX2Column, single: dotsAVX2Single,
}

var avx512Dots = dotSet{
	lanes: 16, rows: 4,
	tile: dotsAVX512Tile, row: dotsAVX512Row, column: dotsAVX512Column, single: dotsAVX512Single,
}
