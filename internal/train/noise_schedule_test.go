package train

import (
	"math"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/accountants"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

var falling = []string{"privacy.noise_schedule=linear", "privacy.noise_final_factor=0.5", "privacy.epsilon=4", "privacy.noise_multiplier=calibrated", "training.steps=32"}

// The noise of a schedule is calibrated so that all steps together fit the budget, to its last
// digits: a thousandth less in every step passes it.
func TestScheduledNoiseIsCalibrated(t *testing.T) {
	names := []string{"rdp", "exact", "pld"}
	if !slow.Asked() {
		names = names[:2]
	}
	for _, name := range names {
		p := mustPlan(t, append(slices.Clone(falling), "privacy.accountant="+name)...)
		spent, err := p.After(p.Steps)
		if err != nil || spent.Epsilon > 4 || p.MaxSteps != p.Steps {
			t.Errorf("%s: %d of %d steps fit with ε = %v, %v", name, p.MaxSteps, p.Steps, spent.Epsilon, err)
		}
		less := new(accountant.Ledger)
		for step := range p.Steps {
			noise := p.Mechanism.Event(step).(accountant.Gaussian)
			if want := p.NoiseMultiplier() * (1 - 0.5*float64(step/2)/15); math.Abs(noise.NoiseMultiplier/want-1) > 1e-12 {
				t.Errorf("%s: the noise of step %d is %v, expected %v", name, step, noise.NoiseMultiplier, want)
			}
			noise.NoiseMultiplier *= 1 - 1e-3
			tiny.Check(t, less.Add(p.Sampler.Sampled(noise), 1))
		}
		a := tiny.Must(accountants.New(name, accountant.ZeroOut))(t)
		if g, err := a.Guarantee(less, p.Delta); err != nil || g.Epsilon <= 4 {
			t.Errorf("%s: with less noise ε is %v, %v, expected more than 4", name, g.Epsilon, err)
		}
	}
}

// The ledger holds the noise that every step had, also across an interruption, after which the run
// goes on with the noise that it began with.
func TestLedgerHoldsTheScheduleOfTheNoise(t *testing.T) {
	o := options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, falling...), o), 7)
	planned := mustPlan(t, falling...)
	o.Stepped = func(p Progress) {
		if want, err := planned.After(p.Step); err != nil || p.Spent.Epsilon < want.Epsilon {
			t.Errorf("step %d shows ε = %v, less than the %v that was spent (%v)", p.Step, p.Spent.Epsilon, want.Epsilon, err)
		}
	}
	r := open(t, stopped.Run, o)
	journal := r.Books
	want := tiny.Must(r.plan.Plan.Schedule(32))(t)
	result := fit(t, r)
	if result.Status != run.Done || result.Steps != 32 || result.Epsilon > 4 {
		t.Errorf("found %+v", result)
	}
	found := journal.Ledger().Entries()
	if !slices.Equal(found, want.Entries()) || len(found) != 16 {
		t.Errorf("the ledger holds %v, expected %v", found, want.Entries())
	}
	if planned.NoiseMultiplier() != result.NoiseMultiplier {
		t.Errorf("the run went on with the noise multiplier %v, expected %v", result.NoiseMultiplier, planned.NoiseMultiplier())
	}
}
