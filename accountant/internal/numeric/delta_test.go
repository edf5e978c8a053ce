package numeric_test

import (
	"math"
	"testing"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/tiny"
)

func TestLeastDelta(t *testing.T) {
	gaussian := func(delta float64) float64 {
		return tiny.Must(theorems.GaussianEpsilon(1, delta))(t)
	}
	for _, e := range []float64{0, 1e-3, 0.1, 1, 5, 20, 30} {
		want := tiny.Must(theorems.GaussianDelta(1, e))(t)
		got := numeric.LeastDelta(gaussian, e)
		if !(got >= want*(1-1e-13) && got <= want*(1+1e-9)) {
			t.Errorf("ε=%v: δ=%v, want %v or up to 1e-9 more", e, got, want)
		}
		if back := gaussian(got); back > e {
			t.Errorf("ε=%v: δ=%v, where ε=%v", e, got, back)
		}
	}
}

func TestLeastDeltaAtTheEnds(t *testing.T) {
	step := func(at float64) func(float64) float64 {
		return func(delta float64) float64 {
			if delta < at {
				return math.Inf(1)
			}
			return 0
		}
	}
	for _, tt := range []struct{ at, want float64 }{
		{2, 1}, {1 - 1e-9, 1 - 1e-9}, {0.5, 0.5}, {1e-5, 1e-5}, {1e-250, 1e-250}, {0, 1e-300},
	} {
		for _, e := range []float64{0, 1} {
			if got := numeric.LeastDelta(step(tt.at), e); !(got >= tt.at && got <= tt.want*(1+1e-9)) && got != tt.want {
				t.Errorf("guarantee from δ=%v: %v, want %v", tt.at, got, tt.want)
			}
		}
	}
}
