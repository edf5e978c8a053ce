package noise

import (
	"math/rand/v2"
	"testing"

	"dpsgd/internal/random"
)

// Noise on a vector, random words included, on one thread and on two:
//
//	go test -run '^$' -bench Add -cpu 1,2 ./internal/noise
func BenchmarkAdd(b *testing.B) {
	perValue(b, func(dst, sum []float64, src *random.Source) func() {
		a := new(Adder)
		return func() { a.Add(dst, sum, nil, 0x1p20, 0x1p-20, src) }
	})
}

// perValue measures blocks of noise, each thread with its own vectors and words.
func perValue(b *testing.B, start func(dst, sum []float64, src *random.Source) func()) {
	b.RunParallel(func(p *testing.PB) {
		block := start(make([]float64, Block), make([]float64, Block), random.New())
		for p.Next() {
			block()
		}
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/Block, "ns/value")
}

func BenchmarkExactPair(b *testing.B) {
	src := rand.NewPCG(1, 2)
	for b.Loop() {
		exactPair(src.Uint64(), src.Uint64(), 0, 0, 0x1p20, src)
	}
}
