package main

import (
	"fmt"
	"testing"
	"time"

	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// gemmShapes are the products that gemm.py compares, C (m×n) = A (m×k)·B (k×n), all row-major: a
// square one, the first layer of mlp1000 at batch 256, and the convolutions of cifar-cnn for one
// picture.
var gemmShapes = []struct{ m, n, k int }{
	{1024, 1024, 1024},
	{256, 1000, 784},
	{1024, 32, 288},
	{256, 64, 288},
	{256, 64, 576},
	{64, 128, 576},
	{64, 128, 1152},
}

// BenchmarkGemm reports the GFLOP/s of products.
func BenchmarkGemm(b *testing.B) {
	for _, s := range gemmShapes {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%dx%dx%d/threads=%d", s.m, s.n, s.k, threads), func(b *testing.B) {
				pool := kernel.NewPool(threads)
				defer pool.Close()
				x, y, z := values(s.m*s.k), values(s.k*s.n), make([]float32, s.m*s.n)
				for b.Loop() {
					pool.Gemm(false, false, s.m, s.n, s.k, 1, x, s.k, y, s.n, 0, z, s.n)
				}
				b.ReportMetric(2*float64(s.m)*float64(s.n)*float64(s.k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	}
}

// BenchmarkFMALimit reports what the machine can do at most.
func BenchmarkFMALimit(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			pool := kernel.NewPool(threads)
			defer pool.Close()
			best := 0.0
			for b.Loop() {
				best = max(best, kernel.FMALimit(pool, 50*time.Millisecond))
			}
			b.ReportMetric(best, "GFLOP/s")
		})
	}
}

// values draws numbers between 0 and 1.
func values(n int) []float32 {
	src := random.Seeded(1)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(src.Float64())
	}
	return x
}
