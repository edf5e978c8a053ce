package kernel

// The innermost loops of a product, the portable ones, and how they see its matrices.

// blockA is a block of op(A). With rows the height of a tile and t = i/rows the tile of row i,
// element (i, l) is data[t*tileStride + (i-t*rows)*rowStride + l*colStride]. Strides for rows and
// columns let one kernel read A and its transpose in place, and packed.
type blockA struct {
	data                             []float32
	rowStride, colStride, tileStride int
}

// blockB is a block of op(B): element (l, j) is data[l*stride+j].
type blockB struct {
	data   []float32
	stride int
}

// blockC is a block of C, rows×cols: element (i, j) is data[i*stride+j], a sum of depth products.
type blockC struct {
	data              []float32
	stride            int
	rows, cols, depth int
}

// portableRows and portableCols are the size of a tile. Its sums fit the 16 vector registers that
// amd64 has without AVX-512; the compiler keeps one float32 in each.
const portableRows, portableCols = 4, 4

func portablePanel(a blockA, b blockB, c blockC, alpha, beta float32) {
	for row := 0; row < c.rows; row += portableRows {
		tile := a.data[row/portableRows*a.tileStride:]
		to := c.data[row*c.stride:]
		if c.rows-row >= portableRows && c.cols == portableCols {
			portableTile(tile, a, b, to, c, alpha, beta)
		} else {
			portableEdge(tile, a, b, to, c, min(c.rows-row, portableRows), alpha, beta)
		}
	}
}

// portableTile computes alpha·A·B + beta·C for a full tile, from to on in C and data on in A.
func portableTile(data []float32, a blockA, b blockB, to []float32, c blockC, alpha, beta float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	var s20, s21, s22, s23, s30, s31, s32, s33 float32
	a0, a1, a2, a3 := 0, a.rowStride, 2*a.rowStride, 3*a.rowStride
	for l := range c.depth {
		row := b.data[l*b.stride:]
		row = row[:4:4]
		b0, b1, b2, b3 := row[0], row[1], row[2], row[3]
		v := data[a0]
		s00 += v * b0
		s01 += v * b1
		s02 += v * b2
		s03 += v * b3
		v = data[a1]
		s10 += v * b0
		s11 += v * b1
		s12 += v * b2
		s13 += v * b3
		v = data[a2]
		s20 += v * b0
		s21 += v * b1
		s22 += v * b2
		s23 += v * b3
		v = data[a3]
		s30 += v * b0
		s31 += v * b1
		s32 += v * b2
		s33 += v * b3
		a0, a1, a2, a3 = a0+a.colStride, a1+a.colStride, a2+a.colStride, a3+a.colStride
	}
	sums := [portableRows][portableCols]float32{
		{s00, s01, s02, s03}, {s10, s11, s12, s13}, {s20, s21, s22, s23}, {s30, s31, s32, s33},
	}
	for i := range sums {
		storeRow(to[i*c.stride:i*c.stride+portableCols], sums[i][:], alpha, beta)
	}
}

// portableEdge does what portableTile does, for a tile of fewer rows or columns. Each sum is taken
// in the order of portableTile, so that it does not matter which of the two computes a row.
func portableEdge(data []float32, a blockA, b blockB, to []float32, c blockC, rows int, alpha, beta float32) {
	for i := range rows {
		var sums [portableCols]float32
		for l := range c.depth {
			v := data[i*a.rowStride+l*a.colStride]
			for j, w := range b.data[l*b.stride : l*b.stride+c.cols] {
				sums[j&(portableCols-1)] += v * w
			}
		}
		storeRow(to[i*c.stride:i*c.stride+c.cols], sums[:], alpha, beta)
	}
}

func storeRow(to, sums []float32, alpha, beta float32) {
	sums = sums[:len(to)]
	if beta == 0 {
		for j, s := range sums {
			to[j] = alpha * s
		}
		return
	}
	for j, s := range sums {
		to[j] = alpha*s + beta*to[j]
	}
}

func portableTranspose(dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for i := range rows {
		at := i
		for _, v := range src[i*srcStride : i*srcStride+cols] {
			dst[at] = v
			at += dstStride
		}
	}
}
