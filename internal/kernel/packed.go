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
