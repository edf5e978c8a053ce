package accountant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/slow"
)

// Random searches: the guarantee that a fresh accountant computes for the result is within
// target, and a little more sampling would exceed it.
func TestMaxSamplingProbabilityIsPrivateAndTight(t *testing.T) {
	searches := 150
	if !slow.Asked() {
		searches = 15
	}
	rng := rand.New(rand.NewPCG(6, 1))
	a := newNamed(t, "rdp")
	for range searches {
		sigma := math.Exp(4*rng.Float64() - 0.5)
		steps := 1 + int(math.Exp(12*rng.Float64()))
		target := randomTarget(rng)
		event := func(q float64) accountant.Event { return accountant.PoissonSampled{q, accountant.Gaussian{sigma}} }
		q, err := accountant.MaxSamplingProbability(a, event, steps, target)
		if err != nil {
			t.Fatalf("σ=%v T=%d %v: %v", sigma, steps, target, err)
		}
		worse := accountant.Event(accountant.NonPrivate{}) // where all records may be in the sample
		if more := max(q*(1+2e-9), accountant.MinSampled); more < 1 {
			worse = event(more)
		}
		isTight(t, event(q), worse, steps, target)
	}
}

func TestMaxSamplingProbabilityAtTheEnds(t *testing.T) {
	a := newNamed(t, "rdp")
	target := accountant.Guarantee{Epsilon: 1, Delta: 1e-5}
	poisson := func(e accountant.Event) func(float64) accountant.Event {
		return func(q float64) accountant.Event { return accountant.PoissonSampled{q, e} }
	}
	for _, tt := range []struct {
		name   string
		event  func(float64) accountant.Event
		target accountant.Guarantee
		want   float64
	}{
		{"no need to sample", poisson(accountant.Gaussian{100}), target, 1},
		{"no noise", poisson(accountant.Gaussian{0}), target, 0},
		{"below what orders show", poisson(accountant.Gaussian{1}), accountant.Guarantee{Epsilon: 1e-6, Delta: 1e-12}, 0},
	} {
		if q, err := accountant.MaxSamplingProbability(a, tt.event, 10, tt.target); err != nil || q != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, q, err, tt.want)
		}
	}
}
