package kernel

// Products C = A·Bᵀ of few and long rows of B: layers of a few outputs on many inputs. Tiles would
// use a part of their vectors, read A in strips that lie far apart, and want B packed. Here each
// element of C is the product of two rows, which are read from end to end where they are.

const (
	mostDots  = 12   // columns of C; tiles waste little with more
	longDots  = 1024 // values of a row at least; tiles are as fast with fewer
	dotLanes  = 16   // rows are a multiple of this long
	grainDots = 16   // rows of C that are worth handing to a worker
)

// dots reports whether the product is computed row by row. That depends on neither m nor the number
// of threads, so that row i of C does not.
func (g *gemm) dots() bool {
	rowMajor := g.matrixA.colStride == 1 && g.matrixB.rowStride == 1
	return g.kernel.dots != nil && rowMajor && g.n <= mostDots && g.k >= longDots && g.k%dotLanes == 0 && g.alpha == 1 && g.beta == 0
}

// dotRows computes rows [lo, hi) of C.
func (g *gemm) dotRows(_, lo, hi int) {
	lda, ldb := g.matrixA.rowStride, g.matrixB.colStride
	g.kernel.dots(g.c[lo*g.ldc:], g.ldc, hi-lo, g.n, g.k, g.matrixA.data[lo*lda:], lda, g.matrixB.data, ldb)
}

// portableDots implements kernelSet.dots.
func portableDots(c []float32, ldc, rows, cols, k int, a []float32, lda int, b []float32, ldb int) {
	for i := range rows {
		x := a[i*lda : i*lda+k]
		for j := range cols {
			c[i*ldc+j] = portableDot(x, b[j*ldb:j*ldb+k])
		}
	}
}

// portableDot returns the product of two rows of one length, a multiple of four.
func portableDot(x, y []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	return (s0 + s1) + (s2 + s3)
}
