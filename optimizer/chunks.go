package optimizer

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunkLen coordinates are worked on at a time: long enough that handing them out costs nothing, short enough that the
// networks of this project occupy every processor.
const chunkLen = 1 << 14

// chunks returns the number of chunks of n coordinates.
func chunks(n int) int { return (n + chunkLen - 1) / chunkLen }

// inChunks calls work for every chunk [from, to) of n coordinates, on all processors, and returns when all are done.
func inChunks(n int, work func(chunk, from, to int)) {
	count := chunks(n)
	one := func(chunk int) { work(chunk, chunk*chunkLen, min((chunk+1)*chunkLen, n)) }
	workers := min(count, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for chunk := range count {
			one(chunk)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for chunk := int(next.Add(1)) - 1; chunk < count; chunk = int(next.Add(1)) - 1 {
				one(chunk)
			}
		})
	}
	done.Wait()
}
