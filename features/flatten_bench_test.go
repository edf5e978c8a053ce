package features

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"dpsgd/internal/kernel"
)

// BenchmarkFit and BenchmarkApply are at the size of patch features of CIFAR-10: 768 channels on a
// grid of 3 by 3.
func BenchmarkFit(b *testing.B) {
	rows := benchmarkRows(2400)
	for _, k := range []int{0, 256, 1000} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			pool := kernel.NewPool(runtime.GOMAXPROCS(0))
			defer pool.Close()
			for b.Loop() {
				benchmarkFit(b, rows, k, pool)
			}
		})
	}
}

func BenchmarkApply(b *testing.B) {
	rows, drawn := benchmarkRows(4096), benchmarkRows(2400)
	for _, k := range []int{0, 256} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			pool := kernel.NewPool(runtime.GOMAXPROCS(0))
			defer pool.Close()
			f := benchmarkFit(b, drawn, k, pool)
			for b.Loop() {
				f.apply(rows, pool)
			}
			b.ReportMetric(50000/4096.*b.Elapsed().Seconds()/float64(b.N), "s/50,000-rows")
		})
	}
}

const benchmarkChannels = 768

func benchmarkRows(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, n*benchmarkChannels*9)
	for i := range rows {
		rows[i] = r.Float32()
	}
	return rows
}

func benchmarkFit(b *testing.B, drawn []float32, k int, pool *kernel.Pool) *Flattening {
	f := must(fitFlattening(drawn, len(drawn)/benchmarkChannels/9, []Block{{benchmarkChannels, 9}}, k, pool))
	return f
}
