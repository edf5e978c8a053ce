package graph_test

import (
	"sync"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// Every worker has a buffer of its own, the same one each time, and workers may ask at the same
// moment.
func TestScratchIsPerWorker(t *testing.T) {
	const workers, size = 4, 10
	pool := kernel.NewPool(workers)
	defer pool.Close()
	scratch := graph.NewScratch(pool, size)
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for round := range 50 {
				buffer := scratch.For(worker)
				if len(buffer) != size {
					t.Errorf("buffer has %d values, expected %d", len(buffer), size)
					return
				}
				if round > 0 && buffer[0] != float32(worker+1) {
					t.Errorf("the buffer of worker %d holds %v, written by another one", worker, buffer[0])
				}
				buffer[0] = float32(worker + 1)
			}
		})
	}
	wait.Wait()
	if n := testing.AllocsPerRun(10, func() { scratch.For(0) }); n != 0 {
		t.Errorf("asking again makes %v allocations, expected none", n)
	}
}
