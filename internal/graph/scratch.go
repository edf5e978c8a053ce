package graph

import "sync"

// Scratch is working memory of an operation, one float32 buffer for each worker of the pool,
// allocated when a worker first asks. Contents survive between calls and mean nothing.
type Scratch struct {
	size    int
	mu      sync.Mutex
	buffers map[int][]float32
}

// NewScratch describes buffers of size values; none is allocated yet.
func NewScratch(size int) *Scratch { return &Scratch{size: size, buffers: map[int][]float32{}} }

// For is the buffer of one worker.
func (s *Scratch) For(worker int) []float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buffers[worker] == nil {
		s.buffers[worker] = make([]float32, s.size)
	}
	return s.buffers[worker]
}
