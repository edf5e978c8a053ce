package numeric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The mass of every count against the product formula, and windows against sums.
func TestBinomial(t *testing.T) {
	for _, b := range []Binomial{{1, 0.3, 0.7}, {5, 0.5, 0.5}, {40, 0.01, 0.99}, {100, 0.999, 0.001}, {300, 0.6, 0.4}} {
		masses, total := make([]float64, b.N+1), 0.0
		masses[0] = math.Pow(b.Q, float64(b.N))
		for x := range b.N {
			masses[x+1] = masses[x] * float64(b.N-x) / float64(x+1) * b.P / b.Q
		}
		for x, want := range masses {
			got := math.Exp(b.LogMass(x))
			if math.Abs(got-want) > 1e-12*want {
				t.Errorf("%+v: mass %v at %d, want %v", b, got, x, want)
			}
			total += got
		}
		if math.Abs(total-1) > 1e-13 {
			t.Errorf("%+v: masses add to %v", b, total)
		}
		for _, cut := range []float64{0.1, 1e-3, 1e-10} {
			lo, hi := b.Window(cut)
			below, above := 0.0, 0.0
			for x, m := range masses {
				if x < lo {
					below += m
				} else if x > hi {
					above += m
				}
			}
			if below > cut || above > cut || lo > hi {
				t.Errorf("%+v: window %d to %d leaves out %v and %v, want at most %v", b, lo, hi, below, above, cut)
			}
		}
	}
}

// Against sums of all terms in the other direction, and tails known in closed form.
func TestBinomialTail(t *testing.T) {
	for _, tt := range []struct {
		n    int
		q    float64
		k    int
		want float64
	}{
		{10, 0.3, 0, 1}, {10, 0.3, 11, 0}, {10, 0, 1, 0}, {10, 1, 10, 1},
		{10, 0.3, 10, math.Pow(0.3, 10)}, {10, 0.3, 1, 1 - math.Pow(0.7, 10)},
		{1_000_000_000, 1e-9, 1, -math.Expm1(1e9 * math.Log1p(-1e-9))},
		{3, 0.5, 2, 0.5}, {101, 0.5, 51, 0.5}, {999999, 0.5, 500000, 0.5},
	} {
		if got := (Binomial{tt.n, tt.q, 1 - tt.q}).Tail(tt.k); math.Abs(got-tt.want) > 1e-13*tt.want {
			t.Errorf("P[Bin(%v, %v) ≥ %v] = %v, want %v", tt.n, tt.q, tt.k, got, tt.want)
		}
	}
	// P[Bin(n, q) ≥ k] + P[Bin(n, 1-q) ≥ n-k+1] = 1.
	rng := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		n := 2 + rng.IntN(100000)
		q := rng.Float64()
		k := int(math.Round(float64(n)*q + 3*math.Sqrt(float64(n))*(rng.Float64()-0.5)))
		if k < 1 || k > n {
			continue
		}
		if sum := (Binomial{n, q, 1 - q}).Tail(k) + (Binomial{n, 1 - q, q}).Tail(n-k+1); math.Abs(sum-1) > 1e-12 {
			t.Errorf("n=%v q=%v k=%v: the two sides add up to 1%+.1e", n, q, k, sum-1)
		}
	}
}
