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
