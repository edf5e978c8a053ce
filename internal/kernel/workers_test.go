package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRunCoversEveryIndexOnce checks the ranges of Run: disjoint, complete, none but the last below
// the grain, and workers in range and never used twice at a time.
func TestRunCoversEveryIndexOnce(t *testing.T) {
	for threads := 0; threads <= 5; threads++ {
		p := NewPool(threads)
		defer p.Close()
		for _, n := range []int{-1, 0, 1, 2, 7, 8, 100, 1001} {
			for _, grain := range []int{0, 1, 3, 50, 2000} {
				checkCover(t, p, n, grain)
			}
		}
	}
	checkCover(t, nil, 10, 3)
}

func checkCover(t *testing.T, p *Pool, n, grain int) {
	t.Helper()
	seen := make([]atomic.Int32, max(n, 0))
	busy := make([]atomic.Int32, p.Threads())
	p.Run(n, grain, func(worker, lo, hi int) {
		if busy[worker].Add(1) != 1 {
			t.Errorf("worker %d runs twice at a time", worker)
		}
		defer busy[worker].Add(-1)
		if lo >= hi || hi < n && hi-lo < grain {
			t.Errorf("n %d, grain %d: range [%d, %d)", n, grain, lo, hi)
		}
		for i := lo; i < hi; i++ {
			seen[i].Add(1)
		}
	})
	for i := range seen {
		if count := seen[i].Load(); count != 1 {
			t.Fatalf("%d threads, n %d, grain %d: index %d visited %d times", p.Threads(), n, grain, i, count)
		}
	}
}

// TestRunUsesAllWorkers waits in every call until all workers have one.
func TestRunUsesAllWorkers(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	var all sync.WaitGroup
	all.Add(4)
	var mu sync.Mutex
	met := map[int]bool{}
	p.Run(1000, 1, func(worker, _, _ int) {
		mu.Lock()
		first := !met[worker]
		met[worker] = true
		mu.Unlock()
		if first {
			all.Done()
		}
		all.Wait()
	})
	if len(met) != 4 {
		t.Errorf("workers %v ran, want 4", met)
	}
}

// TestRunRaisesPanics on the caller, from whichever worker they come, and works afterwards.
func TestRunRaisesPanics(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	for at := range 30 {
		func() {
			defer func() {
				if v := recover(); v != fmt.Sprint("index ", at) {
					t.Fatalf("recovered %v from a panic at index %d", v, at)
				}
			}()
			p.Run(30, 1, func(_, lo, hi int) {
				if lo <= at && at < hi {
					panic(fmt.Sprint("index ", at))
				}
			})
			t.Fatal("no panic")
		}()
		checkCover(t, p, 30, 1)
	}
}

// TestNestedRunIsSerial wants one call for the whole range, under the number of
// the worker that asks, however deep.
func TestNestedRunIsSerial(t *testing.T) {
	p := NewPool(4)
	defer p.Close()
	var total atomic.Int64
	p.Run(64, 1, func(outer, lo, hi int) {
		for range hi - lo {
			p.Run(10, 1, func(inner, lo, hi int) {
				if inner != outer || lo != 0 || hi != 10 {
					t.Errorf("worker %d: nested call as worker %d for [%d, %d)", outer, inner, lo, hi)
				}
				p.Run(3, 1, func(innermost, lo, hi int) {
					if innermost != outer {
						t.Errorf("worker %d: doubly nested call as worker %d", outer, innermost)
					}
					total.Add(int64(hi - lo))
				})
			})
		}
	})
	if total.Load() != 64*3 {
		t.Errorf("%d innermost indices, want %d", total.Load(), 64*3)
	}
}

// TestConcurrentRuns lets several goroutines use one pool at a time.
func TestConcurrentRuns(t *testing.T) {
	p := NewPool(3)
	defer p.Close()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 50 {
				var sum atomic.Int64
				p.Run(100, 7, func(_, lo, hi int) { sum.Add(int64(hi - lo)) })
				if sum.Load() != 100 {
					t.Errorf("%d indices, want 100", sum.Load())
				}
			}
		})
	}
	callers.Wait()
}

// TestClosedPoolRunsOnCaller holds for nil too, and for closing twice.
func TestClosedPoolRunsOnCaller(t *testing.T) {
	p := NewPool(3)
	p.Close()
	p.Close()
	(*Pool)(nil).Close()
	for _, p := range []*Pool{p, nil} {
		calls := 0
		p.Run(100, 1, func(worker, lo, hi int) {
			calls++
			if worker != 0 || lo != 0 || hi != 100 {
				t.Errorf("worker %d, range [%d, %d)", worker, lo, hi)
			}
		})
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	}
}

// A loop over rows with scratch space for each worker.
func ExamplePool_Run() {
	p := NewPool(2)
	defer p.Close()
	rows := [][]float32{{3, 4}, {5, 12}, {8, 15}}
	norms := make([]float64, len(rows))
	scratch := make([][2]float32, p.Threads())
	p.Run(len(rows), 1, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			doubled := scratch[worker][:]
			clear(doubled)
			Axpy(doubled, 2, rows[i])
			norms[i] = SumSquares(doubled) / 4
		}
	})
	fmt.Println(norms)
	// Output: [25 169 289]
}

func BenchmarkRun(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		p.Run(2, 1, func(_, _, _ int) {})
	}
}

// Between the two halves of a call the worker can take it, finish it and go to sleep. The
// wake-up that comes then is not a second call.
func TestLateWakeUpIsNoCall(t *testing.T) {
	h := &helper{wake: make(chan struct{}, 1)}
	taken := make(chan bool)
	go func() {
		for h.wait() {
			taken <- true
		}
		close(taken)
	}()
	h.called.Store(true) // the first half
	<-taken
	for !h.asleep.CompareAndSwap(true, false) { // the second half, late
		runtime.Gosched()
	}
	h.wake <- struct{}{}
	select {
	case <-taken:
		t.Fatal("the late wake-up was taken for a call")
	case <-time.After(50 * time.Millisecond):
	}
	h.call()
	if !<-taken {
		t.Fatal("the next call was lost")
	}
	close(h.wake)
	if _, open := <-taken; open {
		t.Fatal("a call after the end")
	}
}

// A call is taken by the worker or cancelled by the caller, never both: of calls that are cancelled
// at once, whatever the worker is doing, as many are cancelled as it does not take.
func TestCancelledCallsAreNotTaken(t *testing.T) {
	h := &helper{wake: make(chan struct{}, 1)}
	finished := make(chan int)
	go func() {
		taken := 0
		for h.wait() {
			taken++
		}
		finished <- taken
	}()
	const calls = 2000
	cancelled := 0
	for i := range calls {
		h.call()
		for range i % 100 { // let it come now and then
			runtime.Gosched()
		}
		if h.cancel() {
			cancelled++
		}
	}
	close(h.wake)
	if taken := <-finished; taken+cancelled != calls {
		t.Errorf("%d calls taken and %d cancelled of %d", taken, cancelled, calls)
	}
}

// TestRunDoesNotWaitForIdleWorkers runs a loop whose second worker is never there.
func TestRunDoesNotWaitForIdleWorkers(t *testing.T) {
	p := &Pool{helpers: []*helper{{wake: make(chan struct{}, 1)}}, owners: make([]atomic.Int64, 2), shares: make([]share, 2)}
	for range 3 {
		checkCover(t, p, 100, 1)
	}
}

func TestParallelDoesEachOnce(t *testing.T) {
	counts := make([]atomic.Int32, 1000)
	if err := Each(len(counts), func(i int) error { counts[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range counts {
		if n := counts[i].Load(); n != 1 {
			t.Errorf("index %d was done %d times", i, n)
		}
	}
	if err := Each(0, func(int) error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
}

func TestParallelReturnsTheFirstError(t *testing.T) {
	late, early := errors.New("late"), errors.New("early")
	for range 100 {
		err := Each(64, func(i int) error {
			switch i {
			case 20:
				return early
			case 21, 40:
				return late
			}
			return nil
		})
		if err != early {
			t.Fatalf("got %v", err)
		}
	}
}
