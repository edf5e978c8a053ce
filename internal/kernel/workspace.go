package kernel

// workspace is a buffer for each worker of a pool, allocated when a worker first asks.
type workspace struct{ buffers [][]float32 }

// reserve makes room for the workers of p. It is called before they start.
func (w *workspace) reserve(p *Pool) {
	for len(w.buffers) < p.Threads() {
		w.buffers = append(w.buffers, nil)
	}
}

// get returns a worker's buffer of n values; what it holds means nothing.
func (w *workspace) get(worker, n int) []float32 {
	w.buffers[worker] = grow(w.buffers[worker], n)
	return w.buffers[worker]
}
