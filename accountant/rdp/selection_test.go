package rdp

import (
	"math"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/slow"
)

// Runs of one kind cost what the event says whose values are held against other implementations.
func TestSelectionOfOneKindIsTheEvent(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	shapes := []float64{0, math.Inf(1), 0.5, 1}
	if !slow.Asked() {
		shapes = shapes[:2]
	}
	for _, shape := range shapes {
		run := steps(t, 0.004266666666666667, 1.3, 3516)
		whole := new(accountant.Ledger)
		if err := whole.Add(accountant.RepeatAndSelect{Event: run, Mean: 10, Shape: shape}, 1); err != nil {
			t.Fatal(err)
		}
		want, err := a.Guarantee(whole, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Selection([]accountant.Event{run, run}, 10, shape, 1e-5)
		if err != nil || math.Abs(got.Epsilon/want.Epsilon-1) > 1e-11 {
			t.Errorf("shape %v: found %v (%v), expected %v", shape, got.Epsilon, err, want.Epsilon)
		}
	}
}

// Kinds whose divergences cross: the cost is above the cost of each alone, because a run can be of
// either, and below the cost of runs which do both.
func TestSelectionAmongKinds(t *testing.T) {
	a := newRDP(t, DefaultOrders())
	few, many := steps(t, 0.2, 1, 4), steps(t, 0.01, 0.9, 2000)
	cost := func(kinds ...accountant.Event) float64 {
		g, err := a.Selection(kinds, 10, 1, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	both, err := accountant.Compose(few, many)
	if err != nil {
		t.Fatal(err)
	}
	if mixed := cost(few, many); mixed < cost(few) || mixed < cost(many) || mixed > cost(both) || mixed != cost(many, few) {
		t.Errorf("found %v among both kinds, %v and %v of one, %v of both at once", mixed, cost(few), cost(many), cost(both))
	}
	if free := cost(); free != 0 {
		t.Errorf("found %v of runs that release nothing, expected 0", free)
	}
	if open := cost(few, accountant.NonPrivate{}); !math.IsInf(open, 1) {
		t.Errorf("found %v where a run may have no noise, expected +Inf", open)
	}
}

func steps(t *testing.T, q, sigma float64, n int) accountant.Event {
	t.Helper()
	return accountant.SelfComposed{Event: accountant.PoissonSampled{SamplingProbability: q, Event: accountant.Gaussian{NoiseMultiplier: sigma}}, Count: n}
}
