package numeric

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
			if want := math.Log(plain); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) {
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
		if got, want := Log(math.Ldexp(1, n)), float64(n)*math.Ln2; math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("log 2^%d = %v, want %v", n, got, want)
		}
	}
}
