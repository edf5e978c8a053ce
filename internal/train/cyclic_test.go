package train

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// cyclicBudget is a run whose 3 blocks take 4 turns each in 12 steps.
var cyclicBudget = []string{"training.sampling=cyclic", "training.blocks=3", "privacy.epsilon=4", "privacy.noise_multiplier=calibrated"}

// ofBlock is the ε of so many releases of one block of the run with this ledger.
func ofBlock(t *testing.T, l *accountant.Ledger, releases int, delta float64) float64 {
	t.Helper()
	inside := l.Entries()[0].Event.(accountant.CyclicSampled).Event
	all := tiny.Must(new(accountant.Ledger).With(inside, releases))(t)
	return tiny.Must(account.SpentBy("rdp", all, delta))(t).Epsilon
}

// A run of turns costs what the block with most of them sees, also where it was stopped and killed
// in between; it fits its budget, and its statement says how batches were drawn.
func TestCyclicRunCostsItsWorstBlock(t *testing.T) {
	o := options(t)
	whole := train(t, o, cyclicBudget...)
	l := ledgerOf(t, whole.Run)
	if want := ofBlock(t, l, 4, 1e-4); l.Count() != 12 || math.Abs(whole.Epsilon-want) > 1e-9 || whole.Epsilon > 4 || whole.Epsilon < 3.99 {
		t.Errorf("%d releases with ε %v, expected 12 with %v", l.Count(), whole.Epsilon, want)
	}
	tiny.Says(t, whole.Run, "example i is in block i modulo 3, in an order that stays")
	s := tiny.Must(statement.Read(whole.Run))(t)
	if s.EpsilonPlain == nil || *s.EpsilonPlain < whole.Epsilon || *s.EpsilonPlain > 2*whole.Epsilon {
		t.Errorf("by the plain formula it is %v, expected an upper bound of %v", s.EpsilonPlain, whole.Epsilon)
	}
	o = options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, cyclicBudget...), o), 5)
	resumed := fit(t, open(t, stopped.Run, o))
	if resumed.Status != run.Done || resumed.Epsilon != whole.Epsilon {
		t.Errorf("resumed: %s with ε %v, expected done with %v", resumed.Status, resumed.Epsilon, whole.Epsilon)
	}
}

// A run of turns does not go on with its examples in another order, or without knowing theirs; nor do
// rounds of clients.
func TestCyclicRunKeepsTheOrder(t *testing.T) {
	keepsTheOrder(t, cyclicBudget)
	keepsTheOrder(t, []string{"federated.clients=60", "training.batch_size=20", "privacy.delta=1e-3"})
}

func keepsTheOrder(t *testing.T, overrides []string) {
	t.Helper()
	o := options(t)
	stopped := interruptAfter(t, create(t, tiny.Parse(t, overrides...), o), 5)
	set := o.Given.Train.(*data.Images)
	labels, pixels := make([]uint8, set.Len()), []uint8(nil)
	for i := range labels {
		from := (i + 1) % len(labels)
		labels[i], pixels = uint8(set.Label(from)), append(pixels, set.Pixels(from)...)
	}
	turned, other := *o.Given, o
	turned.Train = tiny.Must(data.NewImages(set.Shape(), set.Classes(), labels, pixels))(t)
	other.Given = &turned
	refuses := func(o Options) {
		t.Helper()
		before := tiny.Snapshot(t, o.RunsDir)
		if _, err := Open(stopped.Run, o); !errors.Is(err, books.ErrOtherPlan) || !strings.Contains(err.Error(), folder.Order) {
			t.Errorf("found the error %v, expected one about the order", err)
		}
		if after := tiny.Snapshot(t, o.RunsDir); !maps.Equal(before, after) {
			t.Errorf("found %v, expected what was there before", after)
		}
	}
	refuses(other)
	again := create(t, tiny.Parse(t, "privacy.epsilon=4", "privacy.noise_multiplier=calibrated"), o) // Poisson samples, of no order
	whole := interruptAfter(t, again, 5)
	if resumed := fit(t, open(t, whole.Run, other)); resumed.Status != run.Done {
		t.Errorf("samples of no order: found %+v", resumed)
	}
	tiny.Check(t, os.Remove(filepath.Join(stopped.Run, folder.Order)))
	refuses(o)
}

// A budget ends a run with the turn of a block that has no more; a block that has fewer turns does
// not pay for the others, but whoever they are, nobody is over the budget.
func TestCyclicRunStopsAtItsBudget(t *testing.T) {
	r := train(t, options(t), "training.sampling=cyclic", "training.blocks=5", "privacy.noise_multiplier=2", "privacy.epsilon=3", "training.steps=60")
	l := ledgerOf(t, r.Run)
	if l.Count()%5 != 0 || r.Status != run.BudgetExhausted || r.Epsilon > 3 || ofBlock(t, l, l.Count()/5+1, 1e-4) <= 3 {
		t.Errorf("%s after %d releases with ε %v", r.Status, l.Count(), r.Epsilon)
	}
}

// An extended run goes on with the turns, and two runs on the same data cost what their worst
// blocks cost together.
func TestCyclicRunsAreExtendedAndAddUp(t *testing.T) {
	o := options(t)
	first := train(t, o, cyclicBudget...)
	e := extend(t, first.Run, 8, 17, o)
	second := fit(t, open(t, first.Run, o))
	l := ledgerOf(t, first.Run)
	if turns, _ := l.Turns(); turns != e.To.Steps || second.Status != run.Done {
		t.Fatalf("%s, the ledger holds %v, expected %d turns", second.Status, l.Entries(), e.To.Steps)
	}
	want := ofBlock(t, l, (e.To.Steps+2)/3, 1e-4/math.Exp2(float64(e.Choices)))
	if second.Epsilon < want*(1-1e-9) || second.Epsilon > ofBlock(t, l, (e.To.Steps+2)/3+1, 1e-4/math.Exp2(float64(e.Choices))) {
		t.Errorf("extended: ε %v, expected at least %v and that of one release more at most", second.Epsilon, want)
	}
	o.Name = "other"
	other := train(t, o, append(cyclicBudget, "training.blocks=4")...)
	both := tiny.Must(books.Sum([]string{first.Run, other.Run}))(t)[0]
	if both.Releases != l.Count()+12 || both.Fixed.Epsilon < max(second.Epsilon, other.Epsilon) || both.Fixed.Epsilon < ofBlock(t, l, 4+3, 1e-4) {
		t.Errorf("together: %+v", both)
	}
}

// What does not know turns refuses them by name, and so do batches that no block can have.
func TestCyclicRefusals(t *testing.T) {
	r := train(t, options(t), cyclicBudget...)
	if _, err := accountant.Group(ledgerOf(t, r.Run), 2); err == nil {
		t.Error("groups: no error")
	}
	_, err := NewPlan(tiny.Parse(t, "training.sampling=cyclic", "training.blocks=8"), tiny.Examples)
	if err == nil || !strings.Contains(err.Error(), "training.sampling is cyclic") || !strings.Contains(err.Error(), "8 blocks, expected training.blocks of at most 7,") {
		t.Errorf("found %v", err)
	}
}
