package kernel

import (
	"testing"
)

// A product with a packed matrix is that of Gemm, bit for bit, whatever rows are computed together.
func TestPackedIsGemm(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	var p Packed // the same memory for all sizes
	for _, size := range []struct{ rows, n, k int }{{1, 1, 1}, {5, 33, 7}, {70, 40, 300}, {400, 17, 64}, {3, 600, 513}} {
		for _, trans := range []bool{false, true} {
			a, b := testValues(size.rows*size.k, 1), testValues(size.n*size.k, 2)
			want, got := testValues(size.rows*size.n, 3), testValues(size.rows*size.n, 3)
			ldb := size.n
			if trans {
				ldb = size.k
			}
			p.Set(pool, trans, size.k, size.n, b)
			for _, beta := range []float32{0, 1} {
				serial.multiply(tilesAlone(), false, trans, size.rows, size.n, size.k, 1, a, size.k, b, ldb, beta, want, size.n)
				cut := size.rows / 3
				p.Multiply(got, size.n, a, size.k, cut, beta)
				p.Multiply(got[cut*size.n:], size.n, a[cut*size.k:], size.k, size.rows-cut, beta)
				for i, v := range want {
					if got[i] != v {
						t.Fatalf("%+v, transposed %v, beta %v: value %d is %v, expected %v", size, trans, beta, i, got[i], v)
					}
				}
			}
		}
	}
}

// tilesAlone is the active set, but computes no product by dots.
func tilesAlone() *kernelSet {
	set := *active
	set.dots = nil
	return &set
}

func testValues(n int, seed uint32) []float32 {
	values := make([]float32, n)
	for i := range values {
		seed = seed*1664525 + 1013904223
		values[i] = float32(seed>>8)/(1<<23) - 1
	}
	return values
}
