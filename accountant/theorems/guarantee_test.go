package theorems

import (
	"errors"
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
)

// Every answer is a number of at least 0, and every delta at most 1, whatever the
// valid arguments.
func TestAnswersAreNumbers(t *testing.T) {
	for _, e := range []float64{0, 5e-324, 1e-300, 1e-9, 0.1, 1, 50, 800, 1e10, 1e300, math.MaxFloat64, math.Inf(1)} {
		for _, d := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
			g := guarantee{e, d}
			for _, x := range []float64{0, 5e-324, 1e-300, 1e-16, 1e-5, 0.5, 1 - 0x1p-53, 1} {
				for _, k := range []int{1, 2, 1000, 1 << 50} {
					if got := optimal(g, k, x); !(got >= 0) {
						t.Errorf("optimal of (%v, %v), k=%d, %v: %v", e, d, k, x, got)
					}
				}
				q := questionAbout([]guarantee{g, {0.5, 0}, {0.75, 0}}, x)
				if got, closed := q.optimal(), q.closedForm(); !(got >= 0 && got <= closed) {
					t.Errorf("optimal of (%v, %v) and others, %v: %v, closed form %v", e, d, x, got, closed)
				}
				if got := sampledCost(fixedCost(e, d), x, x).at(0); !(got.Epsilon >= 0 && got.Delta >= 0 && got.Delta <= 1) {
					t.Errorf("sample of (%v, %v), q=%v: %v", e, d, x, got)
				}
			}
		}
	}
}

// What a sample costs, from what its release costs.
func TestSampledCost(t *testing.T) {
	near := func(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }
	for _, tt := range []struct {
		name string
		g    guarantee
		q    float64
		want guarantee
	}{
		{"everyone", guarantee{0.3, 1e-6}, 1, guarantee{0.3, 1e-6}},
		{"half", guarantee{math.Log(3), 1e-6}, 0.5, guarantee{math.Ln2, 5e-7}},
		{"small", guarantee{1e-10, 0}, 1e-10, guarantee{1.00000000005e-20, 0}},
		{"overflow", guarantee{1000, 0}, 0.25, guarantee{1000 - 2*math.Ln2, 0}},
		{"no guarantee", guarantee{math.Inf(1), 0.5}, 0.5, guarantee{math.Inf(1), 0.25}},
	} {
		got := sampledCost(fixedCost(tt.g.Epsilon, tt.g.Delta), tt.q, tt.q).at(0)
		if !near(got.Epsilon, tt.want.Epsilon, 1e-14) || !near(got.Delta, tt.want.Delta, 1e-15) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	// Theorem 8 is tight: the randomized response whether a record is in the sample has exactly this ε.
	for _, e := range []float64{0.01, 1, 5} {
		for _, q := range []float64{0.001, 0.3, 0.9} {
			truth, lie := 1/(1+math.Exp(-e)), 1/(1+math.Exp(e))
			if want, got := math.Log((q*truth+(1-q)*lie)/lie), sampledEpsilon(e, q); math.Abs(got-want) > 1e-14 {
				t.Errorf("ε=%v, q=%v: epsilon %v, randomized response has %v", e, q, got, want)
			}
		}
	}
}

// Every argument outside its range is an error that matches ErrInvalid, in one line that says what was
// found, and the number that comes with it is 0. NaN is never valid.
func TestInvalidArguments(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	notPositive, notEpsilon := []float64{0, -1, inf, nan}, []float64{-1e-9, inf, nan}
	notDelta := []float64{-1e-9, 0, 1, 2, inf, nan}
	for _, tt := range []struct {
		name string
		bad  []float64
		f    func(x float64) (float64, error)
	}{
		{"GaussianDelta σ", notPositive, func(x float64) (float64, error) { return GaussianDelta(x, 1) }},
		{"GaussianDelta ε", notEpsilon, func(x float64) (float64, error) { return GaussianDelta(1, x) }},
		{"GaussianEpsilon σ", notPositive, func(x float64) (float64, error) { return GaussianEpsilon(x, 0.1) }},
		{"GaussianEpsilon δ", notDelta, func(x float64) (float64, error) { return GaussianEpsilon(1, x) }},
		{"GaussianNoiseMultiplier ε", []float64{-1e-9, inf, nan, 1e300}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(x, 0.1) }},
		{"GaussianNoiseMultiplier δ", notDelta, func(x float64) (float64, error) { return GaussianNoiseMultiplier(1, x) }},
		{"GaussianNoiseMultiplier out of reach", []float64{tinyFloat}, func(x float64) (float64, error) { return GaussianNoiseMultiplier(0, x) }},
		{"LaplaceScale ε", []float64{0, -1, inf, nan, tinyFloat}, LaplaceScale},
		{"Shuffle ε", notEpsilon, func(x float64) (float64, error) { return Shuffle(x, 10, 1e-5) }},
		{"Shuffle n", []float64{0, -1, 1 << 50}, func(x float64) (float64, error) { return Shuffle(1, int(x), 1e-5) }},
		{"Shuffle δ", []float64{-1, 1.5, nan}, func(x float64) (float64, error) { return Shuffle(1, 10, x) }},
		{"ShuffleResponse ε", notEpsilon, func(x float64) (float64, error) { return ShuffleResponse(x, 3, 10, 1e-5) }},
		{"ShuffleResponse k", []float64{1, 0, 1 << 50}, func(x float64) (float64, error) { return ShuffleResponse(1, int(x), 10, 1e-5) }},
	} {
		for _, x := range tt.bad {
			got, err := tt.f(x)
			if !errors.Is(err, accountant.ErrInvalid) || got != 0 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %v: %v, %v, want 0 and a line that matches ErrInvalid", tt.name, x, got, err)
			}
		}
	}
}
