package pld

import (
	"errors"
	"math"
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

// discreteDelta is δ at epsilon of one integer with discrete Gaussian noise, for changes of
// sensitivity, by its definition: the sum over all z of max(0, Pr[Y = z] - exp(epsilon) Pr[Y = z + s]).
func discreteDelta(sigma float64, sensitivity int, epsilon float64) float64 {
	s, variance := float64(sensitivity), sigma*sigma
	end := math.Ceil(40*sigma + s)
	sum, all := 0.0, 0.0
	for z := -end; z <= end; z++ {
		p := math.Exp(-z * z / (2 * variance))
		all += p
		sum += p * max(0, -math.Expm1(epsilon-s*(2*z+s)/(2*variance)))
	}
	return sum / all
}

// One release of an integer with discrete Gaussian noise has the ε of its definition; where outcomes
// are taken together (σ of 20 and more) a little above.
func TestOneDiscreteGaussian(t *testing.T) {
	a := newExactUnder(t, accountant.AddOrRemoveOne)
	for _, c := range []struct {
		sigma       float64
		sensitivity int
		slack       float64
	}{{1, 1, 1e-9}, {0.5, 1, 1e-9}, {4, 3, 1e-9}, {12, 5, 1e-9}, {60, 20, 2e-3}, {3000, 1000, 2e-3}} {
		l := accounttest.Ledger(t, accountant.Entry{Event: accountant.DiscreteGaussian{NoiseMultiplier: c.sigma / float64(c.sensitivity), Sensitivity: c.sensitivity}, Count: 1})
		for _, delta := range []float64{1e-2, 1e-6, 1e-12} {
			got := accounttest.Epsilon(t, a, l, delta)
			if found := discreteDelta(c.sigma, c.sensitivity, got*(1+1e-12)); found > delta*(1+1e-9) {
				t.Errorf("σ=%v, Δ=%d: δ(%v) = %v, want at most %v", c.sigma, c.sensitivity, got, found, delta)
			}
			if less := got / (1 + c.slack); discreteDelta(c.sigma, c.sensitivity, less) < delta*(1-1e-9) {
				t.Errorf("σ=%v, Δ=%d: ε(%v) = %v, but %v is private", c.sigma, c.sensitivity, delta, got, less)
			}
		}
	}
}

// Counts with discrete Laplace noise are randomized response: nothing that is ε-private tells more.
// On a fine lattice the noise is Laplace noise, which tells less.
func TestDiscreteLaplaceIsBetweenTwoOthers(t *testing.T) {
	a := newExactUnder(t, accountant.AddOrRemoveOne)
	epsilon := func(e accountant.Event) float64 {
		return accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{Event: e, Count: 30}), 1e-6)
	}
	pure, laplace := epsilon(accountant.ApproxDP{Epsilon: 0.25}), epsilon(accountant.Laplace{Scale: 4})
	if count := epsilon(accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1}); accounttest.Relative(count, pure) > 1e-9 {
		t.Errorf("a count costs %v, randomized response %v", count, pure)
	}
	if fine := epsilon(accountant.DiscreteLaplace{Scale: 4, Sensitivity: 1 << 30}); !(fine >= laplace*(1-1e-9) && fine <= laplace*(1+1e-3)) {
		t.Errorf("on a fine lattice noise costs %v, Laplace noise %v", fine, laplace)
	}
	last := pure
	for _, sensitivity := range []int{2, 3, 8, 100} {
		e := epsilon(accountant.DiscreteLaplace{Scale: 4, Sensitivity: sensitivity})
		if !(e <= last*(1+1e-9) && e >= laplace*(1-1e-9)) {
			t.Errorf("Δ=%d: %v, not between %v and %v", sensitivity, e, last, laplace)
		}
		last = e
	}
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
