package train

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// A footprint is what a process holds after a step whose checkpoint is durable.
type footprint struct {
	heap                    uint64 // bytes after a collection
	goroutines, descriptors int
}

func (r *Run) footprint(t testing.TB) footprint {
	t.Helper()
	tiny.Check(t, r.Order.Wait()) // else a goroutine and a file of the checkpoint come on top
	for range 3 {                 // a pool gives up in its second collection what nobody takes
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return footprint{m.HeapAlloc, runtime.NumGoroutine(), len(open)}
}

// A run holds the same memory, goroutines and descriptors in all of its steps, with a checkpoint,
// two lines of ledgers, a spent ε and an evaluation after each:
//
//	DPSGD_SOAK=200000 go test -timeout 0 -v -run TestSoak ./internal/train
func TestSoak(t *testing.T) {
	const most = 64 << 10 // bytes that the heap may differ by: a third of a byte a step, of 200,000
	steps := slow.Number(t, "DPSGD_SOAK", 300, 10_000)
	r := create(t, tiny.Parse(t, "run.checkpoint_every=1", "training.evaluate_every=100", "privacy.noise_multiplier=100", fmt.Sprintf("training.steps=%d", steps)), options(t))
	var first, last footprint
	begun := time.Now()
	for _, at := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9} {
		r.atStep(max(1, at*steps/10), func() {
			last = r.footprint(t)
			if first.heap == 0 {
				first = last
			}
			t.Logf("step %d, %v: %+v", at*steps/10, time.Since(begun).Round(time.Second), last)
			if last.heap > first.heap+most || last.goroutines != first.goroutines || last.descriptors != first.descriptors {
				t.Errorf("found %+v after step %d, expected at most %d bytes beyond, and else the same as, %+v", last, at*steps/10, most, first)
			}
		})
	}
	fit(t, r)
}
