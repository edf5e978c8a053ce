package pair

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Against sums of all terms in the other direction, and tails known in closed form.
func TestBinomialTail(t *testing.T) {
	for _, tt := range []struct{ n, q, k, want float64 }{
		{10, 0.3, 0, 1}, {10, 0.3, 11, 0}, {10, 0, 1, 0}, {10, 1, 10, 1},
		{10, 0.3, 10, math.Pow(0.3, 10)}, {10, 0.3, 1, 1 - math.Pow(0.7, 10)},
		{1e9, 1e-9, 1, -math.Expm1(1e9 * math.Log1p(-1e-9))},
		{3, 0.5, 2, 0.5}, {101, 0.5, 51, 0.5}, {999999, 0.5, 500000, 0.5},
	} {
		if got := binomialTail(tt.n, tt.q, tt.k); math.Abs(got-tt.want) > 1e-13*tt.want {
			t.Errorf("P[Bin(%v, %v) ≥ %v] = %v, want %v", tt.n, tt.q, tt.k, got, tt.want)
		}
	}
	// P[Bin(n, q) ≥ k] + P[Bin(n, 1-q) ≥ n-k+1] = 1.
	rng := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		n := float64(2 + rng.IntN(100000))
		q := rng.Float64()
		k := math.Round(n*q + 3*math.Sqrt(n)*(rng.Float64()-0.5))
		if k < 1 || k > n {
			continue
		}
		if sum := binomialTail(n, q, k) + binomialTail(n, 1-q, n-k+1); math.Abs(sum-1) > 1e-12 {
			t.Errorf("n=%v q=%v k=%v: the two sides add up to 1%+.1e", n, q, k, sum-1)
		}
	}
}
