package train

import (
	"math"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"
)

// binsBudget is a run of three epochs of 4 bins each.
var binsBudget = []string{"training.sampling=balls_in_bins", "training.batch_size=75", "privacy.epsilon=4", "privacy.noise_multiplier=calibrated"}

// ofEpochs is the ε of so many epochs of a run with this ledger.
func ofEpochs(t *testing.T, l *accountant.Ledger, epochs int, delta float64) float64 {
	t.Helper()
	bins := l.Entries()[0].Event.(accountant.BallsInBins)
	all := tiny.Must(new(accountant.Ledger).With(bins, epochs*bins.Bins))(t)
	return tiny.Must(account.SpentBy("rdp", all, delta))(t).Epsilon
}

// A run costs the epochs that it begins. One that was killed inside an epoch has paid for all of it,
// and goes on with a new one, which costs another epoch; its ledger says so before the next step.
func TestEpochsOfARun(t *testing.T) {
	whole := train(t, options(t), binsBudget...)
	l := ledgerOf(t, whole.Run)
	if want := ofEpochs(t, l, 3, 1e-4); l.Count() != 12 || math.Abs(whole.Epsilon-want) > 1e-9 || whole.Epsilon > 4 || whole.Epsilon < 3.99 {
		t.Errorf("%d releases with ε %v, expected 12 with %v", l.Count(), whole.Epsilon, want)
	}
	tiny.Says(t, whole.Run, "of every 4 steps, an epoch, each example takes part in one")

	for _, at := range []int{4, 5, 7} {
		o := options(t)
		free := []string{"training.sampling=balls_in_bins", "training.batch_size=75", "privacy.noise_multiplier=2"}
		dir := killAfter(t, create(t, tiny.Parse(t, free...), o), at)
		before := ledgerOf(t, dir)
		r := open(t, dir, o)
		aligned := ledgerOf(t, dir)
		if aligned.Count()%4 != 0 || aligned.Count() < before.Count() || aligned.Count() > before.Count()+3 {
			t.Errorf("killed after %d steps: the ledger holds %d releases before the next step, %d before", at, aligned.Count(), before.Count())
		}
		resumed := fit(t, r)
		l := ledgerOf(t, dir)
		if want := ofEpochs(t, l, 3, 1e-4); resumed.Status != run.BudgetExhausted || l.Count() != 12 || math.Abs(resumed.Epsilon-want) > 1e-9 {
			t.Errorf("killed after %d steps: %s with ε %v after %d releases, expected %v of the 3 planned epochs", at, resumed.Status, resumed.Epsilon, l.Count(), want)
		}
	}
}

// A run that lost a part of an epoch ends within its budget, with fewer steps.
func TestLostEpochStaysWithinTheBudget(t *testing.T) {
	o := options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, binsBudget...), o), 6)
	resumed := fit(t, open(t, stopped.Run, o))
	l := ledgerOf(t, stopped.Run)
	if resumed.Status != run.BudgetExhausted || l.Count() != 12 || resumed.Steps != 10 || resumed.Epsilon > 4 {
		t.Errorf("%s after %d steps and %d releases with ε %v, expected 10 steps, 2 of 12 releases lost", resumed.Status, resumed.Steps, l.Count(), resumed.Epsilon)
	}
}

// An extended run begins new epochs, without the steps that its last one lacked. Two runs on the
// same data cost all epochs that they begin.
func TestEpochsAreExtendedAndAddUp(t *testing.T) {
	o := options(t)
	first := train(t, o, append(binsBudget, "training.steps=10")...)
	e := extend(t, first.Run, 8, 0, o)
	second := fit(t, open(t, first.Run, o))
	l := ledgerOf(t, first.Run)
	if second.Status != run.BudgetExhausted || second.Steps != e.To.Steps-2 || second.Epsilon > 8 {
		t.Fatalf("%s after %d steps with ε %v, expected 2 less than %d within 8; the ledger holds %v", second.Status, second.Steps, second.Epsilon, e.To.Steps, l.Entries())
	}
	o.Name = "other"
	other := train(t, o, append(binsBudget, "training.steps=1")...)
	both := tiny.Must(books.Sum([]string{first.Run, other.Run}))(t)[0]
	if both.Fixed.Epsilon < max(second.Epsilon, other.Epsilon)*1.01 {
		t.Errorf("ε %v and %v, together %v, expected more", second.Epsilon, other.Epsilon, both.Fixed.Epsilon)
	}
}

// What does not know epochs refuses them by name.
func TestEpochRefusals(t *testing.T) {
	if _, err := accountant.Group(ledgerOf(t, train(t, options(t), binsBudget...).Run), 2); err == nil || !strings.Contains(err.Error(), "BallsInBins") {
		t.Errorf("groups: found %v", err)
	}
	_, err := NewPlan(tiny.Parse(t, append(binsBudget, "privacy.noise_schedule=linear", "privacy.noise_final_factor=0.5")...), tiny.Examples)
	if err == nil || !strings.Contains(err.Error(), "privacy.noise_schedule") {
		t.Errorf("noise that changes: found %v", err)
	}
}
