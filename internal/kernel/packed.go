package kernel

// Packed is a matrix that is a factor of many products, in the order in which the micro-kernels read
// it. The same layout serves all workers.
type Packed struct {
	k, n   int
	panels []float32 // for each part of k, panels as wide as a tile
	source matrix
	run    func(worker, lo, hi int)
}

// Set lays out op(b), k×n, on the threads of the pool; op transposes where trans is true, so b is
// stored n×k. Rows of b are contiguous.
func (p *Packed) Set(pool *Pool, trans bool, k, n int, b []float32) {
	p.k, p.n = k, n
	p.panels = grow(p.panels, roundUp(n, active.tileCols)*k)
	p.source = matrix{data: b, rowStride: n, colStride: 1}
	if trans {
		p.source = matrix{data: b, rowStride: 1, colStride: k}
	}
	if p.run == nil {
		p.run = p.pack
	}
	pool.Run(roundUp(n, active.tileCols)/active.tileCols, 1+packGrain/k, p.run)
	p.source.data = nil
}

// packGrain is about how many columns times values are worth handing to a worker.
const packGrain = 1 << 10

// parts returns into how many parts of nearly one size k is cut, as [Pool.Gemm] cuts it.
func (p *Packed) parts() int { return (p.k + blockDepth - 1) / blockDepth }

// pack lays out panels [lo, hi).
func (p *Packed) pack(_, lo, hi int) {
	cols, parts := active.tileCols, p.parts()
	for part := range parts {
		from, to := part*p.k/parts, (part+1)*p.k/parts
		for panel := lo; panel < hi; panel++ {
			packStrips(active, p.panel(panel*cols, from, to), cols, p.source.from(from, panel*cols), p.source.rowStride, p.source.colStride, to-from, min(cols, p.n-panel*cols))
		}
	}
}

// panel returns the memory of the panel that begins at a column, of rows [from, to).
func (p *Packed) panel(col, from, to int) []float32 {
	width := roundUp(p.n, active.tileCols)
	at := from*width + col*(to-from)
	return p.panels[at : at+(to-from)*active.tileCols]
}

// Multiply computes C = A·B + beta·C on the caller, for rows×k values of A and rows×n of C. Row i of
// C depends on row i of A only, and is the same whatever the number of rows.
func (p *Packed) Multiply(c []float32, ldc int, a []float32, lda, rows int, beta float32) {
	if rows == 0 {
		return
	}
	checkMatrix("A", a, lda, rows, p.k, false)
	checkMatrix("C", c, ldc, rows, p.n, false)
	for part, parts := 0, p.parts(); part < parts; part++ {
		from, to := part*p.k/parts, (part+1)*p.k/parts
		for i := 0; i < rows; i += blockRows {
			block := blockA{a[i*lda+from:], lda, 1, active.tileRows * lda}
			for col := 0; col < p.n; col += active.tileCols {
				into := blockC{c[i*ldc+col:], ldc, min(blockRows, rows-i), min(active.tileCols, p.n-col), to - from}
				active.panel(block, blockB{p.panel(col, from, to), active.tileCols}, into, 1, beta)
			}
		}
		beta = 1
	}
}
