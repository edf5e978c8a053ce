package kernel

// Working memory, shared by all that runs on a Pool.

// workspace is a buffer for each worker of a pool, allocated when a worker first asks. What it
// holds means nothing from one call to the next, and so everything that runs on a pool shares a few
// of them: memory does not grow with the number of layers of a network.
type workspace struct{ buffers [][]float32 }

// The workspaces of a pool. What an operation needs at the same time is in different ones.
const (
	imageSpace = iota // images, lowered or transformed
	gramSpace         // products of an image with itself
	pieceSpace        // pieces of a gradient
	workspaces
)

func newWorkspace(p *Pool, space int) workspace {
	if p == nil {
		return workspace{make([][]float32, 1)}
	}
	return workspace{p.spaces[space]}
}

// get returns a worker's buffer of n values.
func (w *workspace) get(worker, n int) []float32 {
	w.buffers[worker] = grow(w.buffers[worker], n)
	return w.buffers[worker]
}
