package clip

import (
	"math"
	"testing"

	"dpsgd/internal/random"
)

// Whatever the norms of the layers are, what is left of all of them together stays below the bound
// by the margin, so that the whole is scaled by hardly anything more; a layer that is short stays
// as it is; and a layer that is broken has the factor 0.
func TestLayersTogetherKeepTheBound(t *testing.T) {
	src := random.Seeded(7)
	for _, bound := range []float64{MinClipNorm, 0.3, 1, MaxClipNorm} {
		policy := PerLayer{bound}
		for _, layers := range []int{1, 2, 3, 17, 100} {
			squares, factors := make([]float64, layers), make([]float32, layers)
			for range 200 {
				for i := range squares {
					squares[i] = square(bound * math.Exp(20*src.Float64()-12))
				}
				policy.LayerFactors(factors, squares, layers)
				var left float64
				for i, factor := range factors {
					left += square(float64(factor)) * squares[i]
					if short := squares[i]*float64(layers) <= square(bound*(1-margin)); short != (factor == 1) {
						t.Fatalf("bound %g, %d layers: norm %g has the factor %g", bound, layers, math.Sqrt(squares[i]), factor)
					}
				}
				whole := make([]float32, 1)
				policy.Factors(whole, []float64{left})
				if left > square(bound*(1-margin))*(1+1e-12) || whole[0] < 1-0x1p-20 {
					t.Fatalf("bound %g, %d layers: %g of the bound is left, and then scaled by %g", bound, layers, math.Sqrt(left)/bound, whole[0])
				}
			}
		}
		for _, broken := range []float64{math.NaN(), math.Inf(1), -1} {
			factor := []float32{7}
			if policy.LayerFactors(factor, []float64{broken}, 3); factor[0] != 0 {
				t.Errorf("a squared norm of %g has the factor %g, expected 0", broken, factor[0])
			}
		}
	}
}
