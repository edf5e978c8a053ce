package pld

import (
	"errors"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
)

func newExactUnder(t *testing.T, r accountant.Relation) *Accountant {
	t.Helper()
	a, err := NewExact(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What nobody knows the worst direction of is refused.
func TestDiscreteGaussianOfSeveralIsRefused(t *testing.T) {
	for _, c := range []struct {
		r accountant.Relation
		e accountant.DiscreteGaussian
	}{
		{accountant.AddOrRemoveOne, accountant.DiscreteGaussian{NoiseMultiplier: 4}},
		{accountant.ReplaceOne, accountant.DiscreteGaussian{NoiseMultiplier: 4, Sensitivity: 1}},
		{accountant.ZeroOut, accountant.DiscreteGaussian{NoiseMultiplier: 1e9, Sensitivity: 1}},
	} {
		if g, err := newExactUnder(t, c.r).Guarantee(accounttest.Ledger(t, accountant.Entry{Event: c.e, Count: 1}), 1e-6); !errors.Is(err, accountant.ErrUnsupported) {
			t.Errorf("%v under %v: %v, %v", c.e, c.r, g, err)
		}
	}
}

// What is the same as another event, or nearly so, costs the same: a count with discrete Laplace noise
// is randomized response, noise on a fine lattice is that on the line, and next to no noise is none.
func TestDiscreteEventsCostWhatTheyAreLike(t *testing.T) {
	a := newExactUnder(t, accountant.AddOrRemoveOne)
	epsilon := func(e accountant.Event) float64 {
		return accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: e, Count: 30}), 1e-6)
	}
	for _, tt := range []struct {
		e, like accountant.Event
		slack   float64
	}{
		{accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1}, accountant.ApproxDP{Epsilon: 0.25}, 1e-9},
		{accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1 << 30}, accountant.Laplace{Scale: 4}, 1e-3},
		{accountant.DiscreteLaplace{Scale: 1e-3, Sensitivity: 2}, accountant.ApproxDP{Epsilon: 1e3}, 1e-9},
		{accountant.DiscreteGaussian{NoiseMultiplier: 30, Sensitivity: 100}, accountant.Gaussian{NoiseMultiplier: 30}, 2e-3},
		{accountant.DiscreteGaussian{NoiseMultiplier: 1e-6, Sensitivity: 1}, accountant.NonPrivate{}, 0},
		{accountant.BoundedRange{Range: 800}, accountant.ApproxDP{Epsilon: 800}, 1e-9},
	} {
		if got, want := epsilon(tt.e), epsilon(tt.like); got != want && !(got >= want*(1-1e-9) && got <= want*(1+tt.slack)) {
			t.Errorf("%v costs %v, %v %v", tt.e, got, tt.like, want)
		}
	}
}
