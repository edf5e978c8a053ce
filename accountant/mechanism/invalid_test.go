package mechanism

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// Every argument outside its range is an error that matches ErrInvalid, in one line that
// begins with the package and says what was found, and the number that comes with it is 0.
func TestInvalidArguments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	notPositive := []float64{0, -1, inf, nan}
	notEpsilon := []float64{-1e-9, inf, nan}
	notDelta := []float64{-1e-9, 0, 1, 2, inf, nan}
	notOrder := []float64{1, 0.5, -2, -inf, nan}
	notProbability := []float64{-1e-9, 1.01, inf, nan}

	check := func(name string, bad float64, got float64, err error) {
		t.Helper()
		if !errors.Is(err, ErrInvalid) || got != 0 {
			t.Errorf("%s with %v: %v, %v, want 0 and ErrInvalid", name, bad, got, err)
			return
		}
		if text := err.Error(); !strings.HasPrefix(text, "mechanism: ") || strings.Contains(text, "\n") {
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
	each("GaussianLogDelta σ", notPositive, func(x float64) (float64, error) { return GaussianLogDelta(x, 1) })
	each("GaussianLogDelta ε", notEpsilon, func(x float64) (float64, error) { return GaussianLogDelta(1, x) })
	each("GaussianEpsilon σ", notPositive, func(x float64) (float64, error) { return GaussianEpsilon(x, 0.1) })
	each("GaussianEpsilon δ", notDelta, func(x float64) (float64, error) { return GaussianEpsilon(1, x) })
	each("GaussianNoiseMultiplier ε", append(notEpsilon, 1e300), func(x float64) (float64, error) { return GaussianNoiseMultiplier(x, 0.1) })
	each("GaussianNoiseMultiplier δ", notDelta, func(x float64) (float64, error) { return GaussianNoiseMultiplier(1, x) })
	each("GaussianNoiseMultiplier out of reach", []float64{tinyFloat}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(0, x) })
	each("ClassicGaussianNoiseMultiplier ε", []float64{-1, 0, tinyFloat, 1, 3, inf, nan}, func(x float64) (float64, error) { return ClassicGaussianNoiseMultiplier(x, 0.1) })
	each("ClassicGaussianNoiseMultiplier δ", notDelta, func(x float64) (float64, error) { return ClassicGaussianNoiseMultiplier(0.5, x) })
	each("LaplaceScale ε", append(notPositive, tinyFloat), LaplaceScale)
	each("LaplaceDelta b", notPositive, func(x float64) (float64, error) { return LaplaceDelta(x, 1) })
	each("LaplaceDelta ε", notEpsilon, func(x float64) (float64, error) { return LaplaceDelta(1, x) })
	each("LaplaceEpsilon b", notPositive, func(x float64) (float64, error) { return LaplaceEpsilon(x, 0.1) })
	each("LaplaceEpsilon δ", []float64{-1e-9, 1, 2, nan}, func(x float64) (float64, error) { return LaplaceEpsilon(1, x) })
	each("LaplaceRenyi b", notPositive, func(x float64) (float64, error) { return LaplaceRenyi(x, 2) })
	each("LaplaceRenyi α", notOrder, func(x float64) (float64, error) { return LaplaceRenyi(1, x) })
	each("RandomizedResponseEpsilon p", notProbability, func(x float64) (float64, error) { return RandomizedResponseEpsilon(x, 3) })
	each("RandomizedResponseRenyi p", notProbability, func(x float64) (float64, error) { return RandomizedResponseRenyi(x, 3, 2) })
	each("RandomizedResponseRenyi α", notOrder, func(x float64) (float64, error) { return RandomizedResponseRenyi(0.7, 3, x) })
	each("RandomizedResponseTruth ε", append(notPositive, 1e-20), func(x float64) (float64, error) { return RandomizedResponseTruth(x, 3) })
	each("DiscreteGaussianDelta σ", append(notPositive, 1e-4, 1e10), func(x float64) (float64, error) { return DiscreteGaussianDelta(x, 1, 1) })
	each("DiscreteGaussianDelta ε", notEpsilon, func(x float64) (float64, error) { return DiscreteGaussianDelta(1, 1, x) })
	each("DiscreteGaussianEpsilon σ", append(notPositive, 1e-4, 1e10), func(x float64) (float64, error) { return DiscreteGaussianEpsilon(x, 1, 0.1) })
	each("DiscreteGaussianEpsilon δ", append(notDelta, 1e-301), func(x float64) (float64, error) { return DiscreteGaussianEpsilon(1, 1, x) })
	each("DiscreteGaussianSigma ε", notEpsilon, func(x float64) (float64, error) { return DiscreteGaussianSigma(x, 0.1, 1) })
	each("DiscreteGaussianSigma δ", append(notDelta, 1e-301), func(x float64) (float64, error) { return DiscreteGaussianSigma(1, x, 1) })
	each("DiscreteGaussianSigma out of reach", []float64{1e-12}, func(x float64) (float64, error) { return DiscreteGaussianSigma(0, x, 1) })

	for _, n := range []int{-1, 0, maxSensitivity + 1} {
		got, err := DiscreteGaussianDelta(1, n, 1)
		check("DiscreteGaussianDelta sensitivity", float64(n), got, err)
		got, err = DiscreteGaussianEpsilon(1, n, 0.1)
		check("DiscreteGaussianEpsilon sensitivity", float64(n), got, err)
		got, err = DiscreteGaussianSigma(1, 0.1, n)
		check("DiscreteGaussianSigma sensitivity", float64(n), got, err)
	}
	for _, n := range []int{-1, 0, 1} {
		got, err := RandomizedResponseEpsilon(0.5, n)
		check("RandomizedResponseEpsilon buckets", float64(n), got, err)
		got, err = RandomizedResponseRenyi(0.5, n, 2)
		check("RandomizedResponseRenyi buckets", float64(n), got, err)
		got, err = RandomizedResponseTruth(0.5, n)
		check("RandomizedResponseTruth buckets", float64(n), got, err)
	}
}
