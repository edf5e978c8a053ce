package kernel

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func best(f func()) float64 {
	lo := time.Duration(1 << 60)
	start := time.Now()
	for i := 0; i < 20 || time.Since(start) < 300*time.Millisecond; i++ {
		t := time.Now()
		f()
		if d := time.Since(t); d < lo {
			lo = d
		}
	}
	return lo.Seconds()
}

func TestBest(t *testing.T) {
	if os.Getenv("BEST") == "" {
		t.Skip()
	}
	for _, k := range supportedKernels() {
		if os.Getenv("BEST") != k.name {
			continue
		}
		fmt.Printf("avx2 limit %.1f\n", 12*16*10000/best(func() { multiplyAddsAVX2(10000) })/1e9)
		const depth = 256
		x, y, z := randoms(1, k.rows*depth), randoms(2, k.cols*depth), make([]float32, k.rows*k.cols*16)
		s := best(func() {
			k.panel(blockA{x, 1, k.rows, 0}, blockB{y, k.cols}, blockC{z, k.cols, 16 * k.rows, k.cols, depth}, 1, 0)
		})
		fmt.Printf("%s panel %.1f\n", k.name, 2*16*depth*float64(k.rows*k.cols)/s/1e9)
		defer use(k)()
		for _, s := range gemmShapes {
			x, y, z := randoms(1, s.m*s.k), randoms(2, s.k*s.n), make([]float32, s.m*s.n)
			lda, ldb := s.k, s.n
			if s.transA {
				lda = s.m
			}
			if s.transB {
				ldb = s.k
			}
			var p *Pool
			d := best(func() {
				p.Gemm(s.transA, s.transB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n)
			})
			fmt.Printf("%s %s %.1f\n", k.name, s.name, 2*float64(s.m)*float64(s.n)*float64(s.k)/d/1e9)
		}
	}
}
