package random

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// Standard normals, random words included, on one thread and on all of them:
//
//	go test -run '^$' -bench . ./internal/random
func BenchmarkNormals(b *testing.B) {
	for _, threads := range threadCounts() {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			const length = 512
			sources := make([]*Source, threads)
			for i := range sources {
				sources[i] = New()
			}
			var done sync.WaitGroup
			for _, src := range sources {
				done.Go(func() {
					dst := make([]float64, length)
					for range b.N {
						Normals(dst, src)
					}
				})
			}
			done.Wait()
			b.ReportMetric(float64(threads*length)*float64(b.N)/b.Elapsed().Seconds(), "normals/s")
			b.ReportMetric(1e9*b.Elapsed().Seconds()/float64(b.N)/length, "ns/normal")
		})
	}
}

func threadCounts() []int {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		return []int{1, n}
	}
	return []int{1}
}

func BenchmarkFill(b *testing.B) {
	src := New()
	dst := make([]uint64, 512)
	b.SetBytes(8 * int64(len(dst)))
	for b.Loop() {
		src.Fill(dst)
	}
}
