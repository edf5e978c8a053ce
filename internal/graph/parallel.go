package graph

import "dpsgd/internal/kernel"

// Parallel makes the Run of an operation that splits n work units among the workers of a pool; see
// [kernel.Pool.Run] for grain and worker. The loop is bound once, so that a run of the graph
// allocates nothing for it.
func Parallel(pool *kernel.Pool, n, grain int, body func(worker, lo, hi int, out Array, in []Array)) func(Array, []Array) {
	var out Array
	var in []Array
	loop := func(worker, lo, hi int) { body(worker, lo, hi, out, in) }
	return func(o Array, i []Array) {
		out, in = o, i
		pool.Run(n, grain, loop)
	}
}

// Grain returns the number of work units, each over that many values, worth handing to a worker.
func Grain(values int) int { return 1 + grainValues/max(values, 1) }

// grainValues take a few microseconds; waking a worker takes one or two.
const grainValues = 1 << 13

// Scratch is working memory of an operation, one float32 buffer for each worker of the pool,
// allocated when a worker first asks. Contents survive between calls and mean nothing.
type Scratch struct {
	size    int
	buffers [][]float32
}

// NewScratch describes buffers of size values; none is allocated yet.
func NewScratch(pool *kernel.Pool, size int) *Scratch {
	return &Scratch{size: size, buffers: make([][]float32, pool.Threads())}
}

// For is the buffer of one worker.
func (s *Scratch) For(worker int) []float32 {
	if s.buffers[worker] == nil {
		s.buffers[worker] = make([]float32, s.size)
	}
	return s.buffers[worker]
}
