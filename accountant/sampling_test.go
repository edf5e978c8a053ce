package accountant

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// Random searches: the guarantee that a fresh accountant computes for the result is within
// target, and a little more sampling would exceed it.
func TestMaxSamplingProbabilityIsPrivateAndTight(t *testing.T) {
	searches := 150
	if testing.Short() { // for the race detector
		searches = 15
	}
	rng := rand.New(rand.NewPCG(6, 1))
	a := newNamed(t, "rdp")
	for range searches {
		sigma := math.Exp(4*rng.Float64() - 0.5)
		steps := 1 + int(math.Exp(12*rng.Float64()))
		target := randomTarget(rng)
		event := func(q float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
		q, err := MaxSamplingProbability(a, event, steps, target)
		if err != nil {
			t.Fatalf("σ=%v T=%d %v: %v", sigma, steps, target, err)
		}
		ask := func(q float64) float64 {
			return epsilon(t, newNamed(t, "rdp"), mustLedger(t, Entry{event(q), steps}), target.Delta)
		}
		if e := ask(q); !(e <= target.Epsilon) {
			t.Errorf("σ=%v T=%d %v: q=%v gives %v", sigma, steps, target, q, e)
		}
		if more := max(q*(1+2e-9), MinSampled); more < 1 {
			if e := ask(more); e <= target.Epsilon {
				t.Errorf("σ=%v T=%d %v: q=%v, but %v gives %v still", sigma, steps, target, q, more, e)
			}
		}
	}
}

func TestMaxSamplingProbabilityAtTheEnds(t *testing.T) {
	a := newNamed(t, "rdp")
	target := Guarantee{Epsilon: 1, Delta: 1e-5}
	poisson := func(e Event) func(float64) Event {
		return func(q float64) Event { return PoissonSampled{q, e} }
	}
	for _, tt := range []struct {
		name   string
		event  func(float64) Event
		target Guarantee
		want   float64
	}{
		{"no need to sample", poisson(Gaussian{100}), target, 1},
		{"no noise", poisson(Gaussian{0}), target, 0},
		{"below what orders show", poisson(Gaussian{1}), Guarantee{Epsilon: 1e-6, Delta: 1e-12}, 0},
	} {
		if q, err := MaxSamplingProbability(a, tt.event, 10, tt.target); err != nil || q != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, q, err, tt.want)
		}
	}
	for _, tt := range []struct {
		name   string
		event  func(float64) Event
		steps  int
		target Guarantee
		want   error
	}{
		{"no steps", poisson(Gaussian{1}), 0, target, ErrInvalid},
		{"no event", nil, 1, target, ErrInvalid},
		{"nil event", poisson(nil), 1, target, ErrInvalid},
		{"epsilon 0", poisson(Gaussian{1}), 1, Guarantee{Delta: 1e-5}, ErrInvalid},
		{"other relation", poisson(Gaussian{1}), 1, Guarantee{Epsilon: 1, Delta: 1e-5, Relation: ReplaceOne}, ErrUnsupported},
		{"unsupported event", poisson(nested(2)), 1, target, ErrUnsupported},
	} {
		if q, err := MaxSamplingProbability(a, tt.event, tt.steps, tt.target); !errors.Is(err, tt.want) || q != 0 {
			t.Errorf("%s: %v, %v, want %v", tt.name, q, err, tt.want)
		}
	}
}
