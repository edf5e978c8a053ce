package graph

import "dpsgd/internal/kernel"

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
