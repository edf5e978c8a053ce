package numeric_test

import (
	"errors"
	"math"
	"testing"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/theorems"
)

func TestLeastDelta(t *testing.T) {
	gaussian := func(delta float64) (float64, error) { return theorems.GaussianEpsilon(1, delta) }
	for _, e := range []float64{0, 1e-3, 0.1, 1, 5, 20, 30} {
		want, err := theorems.GaussianDelta(1, e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := numeric.LeastDelta(gaussian, e)
		if err != nil || !(got >= want*(1-1e-13) && got <= want*(1+1e-9)) {
			t.Errorf("ε=%v: δ=%v, %v, want %v or up to 1e-9 more", e, got, err, want)
		}
		if back, err := gaussian(got); err != nil || back > e {
			t.Errorf("ε=%v: δ=%v, where ε=%v, %v", e, got, back, err)
		}
	}
}

func TestLeastDeltaAtTheEnds(t *testing.T) {
	step := func(at float64) func(float64) (float64, error) {
		return func(delta float64) (float64, error) {
			if delta < at {
				return math.Inf(1), nil
			}
			return 0, nil
		}
	}
	for _, tt := range []struct{ at, want float64 }{
		{2, 1}, {1 - 1e-9, 1 - 1e-9}, {0.5, 0.5}, {1e-5, 1e-5}, {1e-250, 1e-250}, {0, 1e-300},
	} {
		for _, e := range []float64{0, 1} {
			if got, err := numeric.LeastDelta(step(tt.at), e); err != nil || !(got >= tt.at && got <= tt.want*(1+1e-9)) && got != tt.want {
				t.Errorf("guarantee from δ=%v: %v, %v, want %v", tt.at, got, err, tt.want)
			}
		}
	}
	broken := errors.New("broken")
	if got, err := numeric.LeastDelta(func(float64) (float64, error) { return 0, broken }, 1); !errors.Is(err, broken) || got != 0 {
		t.Errorf("after an error: %v, %v", got, err)
	}
}
