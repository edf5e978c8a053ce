package numeric

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Sums, products and quotients are never below the exact ones, and are them where they are floats.
func TestDirectedRounding(t *testing.T) {
	values := []float64{0, 5e-324, 1e-300, 1e-17, 0.1, 0.3, 1, 3, 1 << 40, 1e17, 1e300}
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(3000).SetFloat64(x) }
	for _, a := range values {
		for _, b := range values {
			sum := new(big.Float).SetPrec(3000).Add(exact(a), exact(b))
			if got := AddUp(a, b); exact(got).Cmp(sum) < 0 || exact(math.Nextafter(got, 0)).Cmp(sum) >= 0 && got > 0 {
				t.Errorf("%v + %v = %v, want the float at or just above", a, b, got)
			}
			product := new(big.Float).SetPrec(3000).Mul(exact(a), exact(b))
			got := MulUp(a, b)
			if math.IsInf(got, 1) {
				continue
			}
			if exact(got).Cmp(product) < 0 || got > 1e-270 && exact(math.Nextafter(got, 0)).Cmp(product) >= 0 {
				t.Errorf("%v · %v = %v, want the float at or just above", a, b, got)
			}
		}
	}
	for _, a := range values[1:] {
		for _, b := range values[1:] {
			if got := QuotientUp(a, b); !math.IsInf(got, 1) && new(big.Float).SetPrec(3000).Mul(exact(got), exact(b)).Cmp(exact(a)) < 0 {
				t.Errorf("%v / %v = %v, want the float at or just above", a, b, got)
			}
		}
	}
	if got := MulUp(0, math.Inf(1)); got != 0 {
		t.Errorf("0 · ∞ = %v, want 0", got)
	}
}

// Against plain sums where those neither overflow nor round to nothing, with terms in any order.
func TestLogSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 1000 {
		var sum LogSum
		plain, folded := 0.0, math.Inf(-1)
		for range 1 + rng.IntN(20) {
			x := 60*rng.Float64() - 30
			sum.Add(x)
			folded = LogAddExp(folded, x)
			plain += math.Exp(x)
		}
		for _, got := range []float64{sum.Log(), folded} {
			if want := math.Log(plain); !(math.Abs(got-want) <= 1e-13*max(1, math.Abs(want))) {
				t.Fatalf("log Σ = %v, want %v", got, want)
			}
		}
	}
	var empty LogSum
	if got := empty.Log(); !math.IsInf(got, -1) {
		t.Errorf("the logarithm of no sum is %v, want -Inf", got)
	}
}

// Below 2.2e-308 the fraction has fewer digits, but log(2^-1074) is known.
func TestLogOfSubnormals(t *testing.T) {
	for n := -1074; n <= 1023; n++ {
		if got, want := Log(math.Ldexp(1, n)), float64(n)*math.Ln2; !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
			t.Errorf("log 2^%d = %v, want %v", n, got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name           string
		epsilon, delta float64
		k              int
		wantEpsilon    float64
		wantDelta      float64
	}{
		{"one", 0.3, 1e-6, 1, 0.3, 1e-6},
		{"two", 0.5, 1e-6, 2, 1, 1e-6 * (1 + math.Exp(0.5))},
		{"pure", 0.5, 0, 1000, 500, 0},
		{"epsilon 0", 0, 1e-6, 5, 0, 5e-6},
		{"next to epsilon 0", 1e-12, 1e-6, 5, 5e-12, 5e-6 * (1 + 2e-12)},
		{"delta at most 1", 1, 1e-3, 50, 50, 1},
		{"overflow", 1, 1e-3, 5000, 5000, 1},
		{"a tiny delta times a large factor", 700, 1e-320, 2, 1400, 1e-320 * math.Exp(700)},
		{"no guarantee", inf, 0.1, 2, inf, 1},
		{"none, pure", inf, 0, 2, inf, 0},
	} {
		epsilon, delta := Group(tt.epsilon, tt.delta, tt.k)
		if !near(epsilon, tt.wantEpsilon, 1e-15) || !near(delta, tt.wantDelta, 1e-11) || delta < tt.wantDelta*(1-1e-13) {
			t.Errorf("%s: (%v, %v), want (%v, %v)", tt.name, epsilon, delta, tt.wantEpsilon, tt.wantDelta)
		}
	}
}

// near reports whether two numbers are equal up to a relative tolerance.
func near(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }

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
			if !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("%+v: mass %v at %d, want %v", b, got, x, want)
			}
			total += got
		}
		if !(math.Abs(total-1) <= 1e-13) {
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
		if got := (Binomial{tt.n, tt.q, 1 - tt.q}).Tail(tt.k); !(math.Abs(got-tt.want) <= 1e-13*tt.want) {
			t.Errorf("P[Bin(%v, %v) ≥ %v] = %v, want %v", tt.n, tt.q, tt.k, got, tt.want)
		}
	}
	// P[Bin(n, q) ≥ k] + P[Bin(n, 1-q) ≥ n-k+1] = 1.
	rng := rand.New(rand.NewPCG(8, 3))
	for range 300 {
		n := 2 + rng.IntN(100000)
		q := rng.Float64()
		k := int(math.Round(float64(n)*q + 3*math.Sqrt(float64(n))*(rng.Float64()-0.5)))
		if !(k >= 1 && k <= n) {
			continue
		}
		if sum := (Binomial{n, q, 1 - q}).Tail(k) + (Binomial{n, 1 - q, q}).Tail(n-k+1); !(math.Abs(sum-1) <= 1e-12) {
			t.Errorf("n=%v q=%v k=%v: the two sides add up to 1%+.1e", n, q, k, sum-1)
		}
	}
}
