package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls work(0) … work(n−1) on all processors and returns the error of
// the lowest index that failed. After a failure no higher index is started, so
// that error does not depend on the number of processors.
func Each(n int, work func(i int) error) error {
	var (
		next   atomic.Int64
		group  sync.WaitGroup
		mutex  sync.Mutex
		failed = n
		first  error
	)
	run := func() {
		for {
			i := int(next.Add(1)) - 1
			mutex.Lock()
			stop := i >= failed
			mutex.Unlock()
			if stop {
				return
			}
			if err := work(i); err != nil {
				mutex.Lock()
				if i < failed {
					failed, first = i, err
				}
				mutex.Unlock()
			}
		}
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(run)
	}
	group.Wait()
	return first
}
