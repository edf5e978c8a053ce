package accountant_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/accounttest"
	"dpsgd/accountant/theorems"
	"dpsgd/internal/slow"
)

// train spends like the training loop: the question includes the next step, and the
// first refusal ends the run.
func train(t *testing.T, a accountant.Accountant, event accountant.Event, target accountant.Guarantee, limit int) *accountant.Ledger {
	t.Helper()
	ledger := &accountant.Ledger{}
	for ledger.Count() < limit {
		next, err := ledger.With(event, 1)
		if err != nil {
			t.Fatal(err)
		}
		g, err := a.Guarantee(next, target.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Within(target) {
			return ledger
		}
		ledger = next
	}
	t.Fatalf("%v lasts longer than %d steps of %v", target, limit, event)
	return nil
}

// 200 random runs end with ε ≤ target, one step more would exceed it, and MaxSteps
// knew.
func TestNoRunPassesItsBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	a := newNamed(t, "rdp")
	runs := 200
	if !slow.Asked() {
		runs = 20
	}
	for range runs {
		event := accountant.PoissonSampled{math.Exp(-7 * rng.Float64()), accountant.Gaussian{math.Exp(3*rng.Float64() - 1)}}
		delta := math.Exp(-20*rng.Float64() - 5)
		// A target that some step between 0 and 600 reaches, anywhere in it.
		cost := func(steps int) float64 {
			return accounttest.Epsilon(t, a, accounttest.Ledger(t, accountant.Entry{event, steps}), delta)
		}
		reached := rng.IntN(600)
		target := accountant.Guarantee{Epsilon: cost(reached) + rng.Float64()*(cost(reached+1)-cost(reached)), Delta: delta}
		if target.Epsilon == 0 {
			continue
		}
		ledger := train(t, a, event, target, 1000)
		steps := ledger.Count()
		fresh := newNamed(t, "rdp")
		if e := accounttest.Epsilon(t, fresh, ledger, delta); e > target.Epsilon {
			t.Errorf("%v stopped after %d steps at ε=%v, target %v", event, steps, e, target)
		}
		if e := cost(steps + 1); e <= target.Epsilon {
			t.Errorf("%v stopped after %d steps, but one more gives ε=%v, target %v", event, steps, e, target)
		}
		if n, err := accountant.MaxSteps(a, event, target, math.MaxInt); err != nil || n != steps {
			t.Errorf("%v: MaxSteps %d, %v, the run took %d", event, n, err, steps)
		}
	}
}

func TestMaxSteps(t *testing.T) {
	a := newNamed(t, "rdp")
	for _, tt := range []struct {
		name        string
		event       accountant.Event
		limit, want int
	}{
		{"not one", accountant.Gaussian{0.1}, 1000, 0},
		{"no noise", accountant.Gaussian{0}, 1000, 0},
		{"non-private", accountant.NonPrivate{}, 1000, 0},
		{"limit 0", accountant.Gaussian{100}, 0, 0},
		{"up to the limit", accountant.Gaussian{100}, 10, 10},
		{"up to a large limit", accountant.Gaussian{1e12}, math.MaxInt / 2, math.MaxInt / 2},
		{"free", accountant.PoissonSampled{0, accountant.Gaussian{1}}, math.MaxInt, math.MaxInt},
	} {
		got, err := accountant.MaxSteps(a, tt.event, accountant.Guarantee{Epsilon: 1, Delta: 1e-5}, tt.limit)
		if err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// The pure epsilon of Laplace releases adds up, so that the edge is known, near and far.
func TestMaxStepsFindsTheEdge(t *testing.T) {
	basic, err := theorems.NewBasic(accountant.AddOrRemoveOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, 1, 2, 3, 7, 15, 16, 17, 100, 1023, 1024, 1025, 54321, 1 << 20, 987654321, 1 << 40} {
		target := accountant.Guarantee{Epsilon: float64(want) + 0.5, Delta: 1e-5}
		if got, err := accountant.MaxSteps(basic, accountant.Laplace{1}, target, math.MaxInt); err != nil || got != want {
			t.Errorf("ε=%v: %d steps, %v, want %d", target.Epsilon, got, err, want)
		}
		if got, err := accountant.MaxSteps(basic, accountant.Laplace{1}, target, want+1); err != nil || got != want {
			t.Errorf("ε=%v up to %d: %d steps, %v, want %d", target.Epsilon, want+1, got, err, want)
		}
	}
}
