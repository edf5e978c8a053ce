package kernel

import "slices"

// Packed is a matrix that is a factor of many products, in the order in which the micro-kernels read
// it. The same layout serves all workers.
type Packed struct {
	k, n   int
	kernel *kernelSet
	parts  [][]float32 // for each part of k, panels as wide as a tile
	source matrix
	run    func(worker, lo, hi int)
}

// Set lays out op(b), k×n, on the threads of the pool; op transposes where trans is true, so b is
// stored n×k. Rows of b are contiguous.
func (p *Packed) Set(pool *Pool, trans bool, k, n int, b []float32) {
	p.k, p.n, p.kernel = k, n, active.forProduct(1, n, k)
	p.source = matrixOf(b, n, false)
	if trans {
		p.source = matrixOf(b, k, true)
	}
	if p.run == nil {
		p.run = p.pack
	}
	cols := roundUp(n, p.kernel.tileCols)
	p.parts = slices.Grow(p.parts[:0], p.kernel.parts(k))[:p.kernel.parts(k)]
	for i := range p.parts {
		from, to := p.kernel.part(i, k)
		p.parts[i] = grow(p.parts[i], p.kernel.packedSize(cols, to-from))
	}
	pool.Run(cols/p.kernel.tileCols, 1+packGrain/k, p.run)
	p.source.data = nil
}

// packGrain is about how many columns times values are worth handing to a worker.
const packGrain = 1 << 10

// pack lays out panels [lo, hi).
func (p *Packed) pack(_, lo, hi int) {
	buffers := packs.Get().(*packBuffers)
	defer packs.Put(buffers)
	lo, hi = lo*p.kernel.tileCols, min(hi*p.kernel.tileCols, p.n)
	for i, part := range p.parts {
		from, to := p.kernel.part(i, p.k)
		buffers.packB(p.kernel, part[p.kernel.packedSize(lo, to-from):], p.source.from(from, lo), p.source, to-from, hi-lo)
	}
}

// Multiply computes C = A·B + beta·C on the caller, for rows×k values of A and rows×n of C. Row i of
// C depends on row i of A only, and is the same whatever the number of rows.
func (p *Packed) Multiply(c []float32, ldc int, a []float32, lda, rows int, beta float32) {
	if rows == 0 {
		return
	}
	checkMatrix("A", a, lda, rows, p.k, false)
	checkMatrix("C", c, ldc, rows, p.n, false)
	g := gemms.Get().(*gemm)
	g.matrixA, g.c, g.ldc, g.m, g.n, g.k, g.alpha, g.beta = matrixOf(a, lda, false), c, ldc, rows, p.n, p.k, 1, beta
	g.kernel, g.ready, g.packA, g.packB = p.kernel, p.parts, p.kernel.splits != nil, true
	g.block(0, rows, 0, p.n)
	g.done()
}

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

func (g *gemm) dotRows(_, lo, hi int) {
	lda, ldb := g.matrixA.rowStride, g.matrixB.colStride
	g.kernel.dots(g.c[lo*g.ldc:], g.ldc, hi-lo, g.n, g.k, g.matrixA.data[lo*lda:], lda, g.matrixB.data, ldb)
}

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
