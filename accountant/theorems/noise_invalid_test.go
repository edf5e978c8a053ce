package theorems

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// Every argument outside its range is an error that matches ErrInvalid, in one line that
// begins with the package and says what was found, and the number that comes with it is 0.
func TestInvalidNoise(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	notPositive := []float64{0, -1, inf, nan}
	notEpsilon := []float64{-1e-9, inf, nan}
	notDelta := []float64{-1e-9, 0, 1, 2, inf, nan}
	notOrder := []float64{1, 0.5, -2, -inf, nan}

	check := func(name string, bad float64, got float64, err error) {
		t.Helper()
		if !errors.Is(err, ErrInvalid) || got != 0 {
			t.Errorf("%s with %v: %v, %v, want 0 and ErrInvalid", name, bad, got, err)
			return
		}
		if text := err.Error(); !strings.HasPrefix(text, "theorems: ") || strings.Contains(text, "\n") {
			t.Errorf("%s with %v: error %q", name, bad, text)
		}
	}
	each := func(name string, bad []float64, f func(float64) (float64, error)) {
		t.Helper()
		for _, x := range bad {
			got, err := f(x)
			check(name, x, got, err)
		}
	}
	each("GaussianDelta σ", notPositive, func(x float64) (float64, error) { return GaussianDelta(x, 1) })
	each("GaussianDelta ε", notEpsilon, func(x float64) (float64, error) { return GaussianDelta(1, x) })
	each("GaussianEpsilon σ", notPositive, func(x float64) (float64, error) { return GaussianEpsilon(x, 0.1) })
	each("GaussianEpsilon δ", notDelta, func(x float64) (float64, error) { return GaussianEpsilon(1, x) })
	each("GaussianNoiseMultiplier ε", append(notEpsilon, 1e300), func(x float64) (float64, error) { return GaussianNoiseMultiplier(x, 0.1) })
	each("GaussianNoiseMultiplier δ", notDelta, func(x float64) (float64, error) { return GaussianNoiseMultiplier(1, x) })
	each("GaussianNoiseMultiplier out of reach", []float64{tinyFloat}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(0, x) })
	each("LaplaceScale ε", append(notPositive, tinyFloat), LaplaceScale)
	each("LaplaceRenyi b", notPositive, func(x float64) (float64, error) { return LaplaceRenyi(x, 2) })
	each("LaplaceRenyi α", notOrder, func(x float64) (float64, error) { return LaplaceRenyi(1, x) })

}
