package kernel

// workspace is a buffer for each worker of a pool, allocated when a worker first asks.
type workspace struct{ buffers [][]float32 }

func newWorkspace(p *Pool) workspace { return workspace{make([][]float32, p.Threads())} }

// get returns a worker's buffer of n values; what it holds means nothing.
func (w *workspace) get(worker, n int) []float32 {
	w.buffers[worker] = grow(w.buffers[worker], n)
	return w.buffers[worker]
}
