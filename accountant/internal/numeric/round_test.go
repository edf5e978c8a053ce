package numeric

import (
	"math"
	"math/big"
	"testing"
)

// Sums, products and quotients are never below the exact ones, and are them where they are
// floats.
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
