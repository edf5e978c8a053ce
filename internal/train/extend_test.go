package train

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/slow"
	"dpsgd/internal/statement"
	"dpsgd/internal/tiny"
)

// ledgerOf is the ledger of a run, held against everything that speaks of it.
func ledgerOf(t *testing.T, dir string) *accountant.Ledger {
	t.Helper()
	i := tiny.Must(books.Inspect(dir))(t)
	return i.Ledger
}

func extend(t *testing.T, dir string, epsilon float64, steps int, o Options) Extended {
	t.Helper()
	return tiny.Must(Extend(dir, epsilon, steps, o))(t)
}

// plainly is the ε of so many steps of the tiny configuration whose number was fixed in advance.
func plainly(t *testing.T, c string, l *accountant.Ledger, steps int, delta float64) float64 {
	t.Helper()
	all := tiny.Must(new(accountant.Ledger).With(l.Entries()[0].Event, steps))(t)
	s := tiny.Must(account.SpentBy(c, all, delta))(t)
	return s.Epsilon
}

// An extended run goes on where it was, stays within its new budget, and its ε is that of all its
// steps at the share of δ that the choice left: 2^-j of it for the number j of the list of totals.
// The statement says what was changed, after which step, and from what.
func TestExtendedRunCountsEverything(t *testing.T) {
	for _, name := range []string{"exact", "rdp", "pld"}[:min(3, slow.Number(t, "DPSGD_TEST_ACCOUNTANTS", 2, 3))] {
		o := options(t)
		budget := []string{"privacy.epsilon=3", "privacy.noise_multiplier=calibrated", "privacy.accountant=" + name}
		first := train(t, o, budget...)
		e := extend(t, first.Run, 6, 0, o)
		if e.Step != 12 || e.Entries != 12 || e.From.Steps != 12 || e.From.Epsilon != 3 || e.To.Epsilon != 6 || e.SpentEpsilon != first.Epsilon {
			t.Errorf("%s: %+v", name, e)
		}
		if want := account.Total(12, e.Choices); e.To.Steps != want {
			t.Errorf("%s: %d steps, expected number %d of the list, %d", name, e.To.Steps, e.Choices, want)
		}
		second := fit(t, open(t, first.Run, o))
		l := ledgerOf(t, first.Run)
		if second.Status != run.Done || second.Steps != e.To.Steps || l.Count() != e.To.Steps+e.Choices || second.Epsilon > 6 {
			t.Errorf("%s: %s after %d steps with %d entries and ε %v, expected done, %d, %d, at most 6", name, second.Status, second.Steps, l.Count(), second.Epsilon, e.To.Steps, e.To.Steps+e.Choices)
		}
		share := 1e-4 / float64(int(1)<<e.Choices)
		if want := plainly(t, name, l, e.To.Steps, share); second.Epsilon < want*(1-1e-12) || second.Epsilon > want*(1+1e-6) {
			t.Errorf("%s: ε %v, expected %v of %d steps at δ = %v", name, second.Epsilon, want, e.To.Steps, share)
		}
		next := account.Total(12, e.Choices+1)
		if cost := plainly(t, name, l, next, share/2); cost <= 6 {
			t.Errorf("%s: the next total, %d steps, costs %v and was not chosen", name, next, cost)
		}
		s, err := statement.Read(first.Run)
		if err != nil || len(s.Extended) != 1 || s.Extended[0] != (statement.Extension{Step: 12, Releases: 12, FromSteps: 12, FromEpsilon: 3, ToSteps: e.To.Steps, ToEpsilon: 6}) {
			t.Errorf("%s: the statement says %+v (%v)", name, s.Extended, err)
		}
		if s.EpsilonPlain == nil || *s.EpsilonPlain < second.Epsilon*(1-1e-6) {
			t.Errorf("%s: by the plain formula it is %v, expected an upper bound of %v", name, s.EpsilonPlain, second.Epsilon)
		}
		tiny.Says(t, first.Run, "| Extended | after step 12, with 12 entries in the ledger: from 12 steps and a budget of ε = 3 to ", "δ is twice as large")
		measured(t, second, o)
	}
}

// A run may be extended again, stopped and killed at any time: the ledger holds every release, of
// lost steps too, and no more than the largest total, with its choices.
func TestExtendedRunIsStoppedKilledAndExtendedAgain(t *testing.T) {
	o := options(t)
	first := fit(t, open(t, killAfter(t, create(t, tiny.Parse(t), o), 9), o)) // 4 steps were lost
	one := extend(t, first.Run, 0, 20, o)
	if one.To.Steps != 17 || one.Choices != 2 {
		t.Fatalf("%+v, expected the largest total of 12, 15, 17, 21, … that is at most 20", one)
	}
	two := extend(t, first.Run, 0, 24, o) // before it went on
	if two.To.Steps != 24 || two.Choices != 4 || two.From.Steps != 17 || two.Step != 8 {
		t.Fatalf("%+v, expected 24 steps, number 4 of the list", two)
	}
	killAfter(t, open(t, first.Run, o), 12)
	last := fit(t, open(t, first.Run, o))
	cost := plainly(t, account.RDP, ledgerOf(t, first.Run), 24, 1e-4/16)
	if last.Steps != 18 || last.Epsilon < cost*(1-1e-9) || last.Epsilon > cost*(1+1e-9) || account.Choices(ledgerOf(t, first.Run)) != 4 || ledgerOf(t, first.Run).Count() != 24+4 {
		t.Errorf("%+v with %d entries, expected 24 releases and 4 choices for ε = %v, and 6 steps less, which were lost", last, ledgerOf(t, first.Run).Count(), cost)
	}
	s, err := statement.Read(first.Run)
	if err != nil || len(s.Extended) != 2 || s.LedgerEntries != 28 {
		t.Errorf("the statement says %+v (%v)", s.Extended, err)
	}
	fit(t, open(t, first.Run, o)) // goes on with a checkpoint of the extended plan
}

// What is done to the files of an extended run makes its ε no smaller.
func TestExtensionCannotBeTakenBack(t *testing.T) {
	o := options(t)
	first := train(t, o)
	extend(t, first.Run, 0, 24, o)
	done := fit(t, open(t, first.Run, o))
	path := filepath.Join(first.Run, folder.Extended)
	tiny.Check(t, os.Remove(path))
	if _, err := Open(first.Run, o); !errors.Is(err, books.ErrOtherPlan) {
		t.Errorf("going on without %s is %v, expected an error that matches %v", folder.Extended, err, books.ErrOtherPlan)
	}
	measured(t, done, o)
	totals, err := books.Show(o.RunsDir)
	if err != nil || len(totals.Datasets) != 1 || totals.Datasets[0].Fixed.Epsilon != done.Epsilon || totals.Datasets[0].Runs[0].Epsilon != done.Epsilon {
		t.Errorf("the ledger of the data says %+v (%v), expected ε %v", totals, err, done.Epsilon)
	}
	tiny.Check(t, os.WriteFile(path, []byte("[{]"), 0o600))
	if _, err := Open(first.Run, o); !errors.Is(err, checkpoints.ErrCorrupt) {
		t.Errorf("a damaged %s is %v", folder.Extended, err)
	}
}

// Stopped between paying for the choice and writing it down, a run goes on as it was, at a cost
// that holds the choice; extended again, it pays no second time.
func TestExtensionStoppedInBetweenIsPaidOnce(t *testing.T) {
	o := options(t)
	first := train(t, o)
	one := extend(t, first.Run, 0, 24, o)
	path := filepath.Join(first.Run, folder.Extended)
	tiny.Check(t, os.Remove(path))
	if r := fit(t, open(t, first.Run, o)); r.Steps != 12 || r.Epsilon <= first.Epsilon {
		t.Errorf("%+v, expected 12 steps and an ε above %v", r, first.Epsilon)
	}
	if again := extend(t, first.Run, 0, 24, o); again.Choices != one.Choices || again.Entries != one.Entries+one.Choices {
		t.Errorf("%+v, expected the choices of %+v", again, one)
	}
	if found := account.Choices(ledgerOf(t, first.Run)); found != one.Choices {
		t.Errorf("the ledger holds %d choices, expected %d", found, one.Choices)
	}
}

// Two runs on one data set that were both extended have a finite ε together: their weights
// multiply.
func TestExtendedRunsAddUp(t *testing.T) {
	o := options(t)
	for range 2 {
		r := train(t, o)
		extend(t, r.Run, 0, 24, o)
		fit(t, open(t, r.Run, o))
	}
	totals := tiny.Must(books.Show(o.RunsDir))(t)
	l := ledgerOf(t, filepath.Join(o.RunsDir, "tiny-1"))
	if want := plainly(t, "rdp", l, 48, 1e-4/256); totals.Datasets[0].Fixed.Epsilon != want {
		t.Errorf("together ε %v, expected %v of 48 steps at δ/2^8", totals.Datasets[0].Fixed.Epsilon, want)
	}
}

// What cannot be extended says why, and nothing of it changes: not even files that a run makes anew
// when it goes on.
func TestExtensionIsRefused(t *testing.T) {
	for _, tt := range []struct {
		overrides []string
		epsilon   float64
		steps     int
		want      string
	}{
		{nil, 0, 0, "expected --epsilon or --steps"},
		{nil, 4, 0, "run without a budget, expected --steps"},
		{nil, 0, 13, "found --steps 13, expected at least 15, the next number of steps"},
		{[]string{"privacy.epsilon=30"}, 20, 0, "expected at least the budget of now, 30"},
		{[]string{"privacy.epsilon=3", "privacy.noise_multiplier=calibrated"}, 3.2, 0, "found a budget of ε = 3.2, expected at least 3."},
		{[]string{"privacy.noise_schedule=linear"}, 0, 30, "expected both constant"},
		{[]string{"privacy.clip_schedule=linear"}, 0, 30, "expected both constant"},
	} {
		o := options(t)
		r := train(t, o, tt.overrides...)
		for _, name := range []string{folder.Engines, folder.MetricsTable, folder.MetricsEvents} {
			tiny.Check(t, os.Remove(filepath.Join(r.Run, name)))
		}
		before := tiny.Snapshot(t, o.RunsDir)
		if _, err := Extend(r.Run, tt.epsilon, tt.steps, o); !errors.Is(err, ErrExtension) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, ε %v, %d steps: %v, expected one line with %q", tt.overrides, tt.epsilon, tt.steps, err, tt.want)
		}
		if !maps.Equal(before, tiny.Snapshot(t, o.RunsDir)) {
			t.Errorf("%v, ε %v, %d steps: the refusal changed the folder", tt.overrides, tt.epsilon, tt.steps)
		}
	}
	runs := t.TempDir()
	trial, own, link := filepath.Join(runs, "sweep", "trial"), filepath.Join(runs, "own"), filepath.Join(runs, "link")
	tiny.Check(t, errors.Join(os.MkdirAll(trial, 0o700), os.Mkdir(own, 0o700), os.Symlink(trial, link)))
	tiny.Write(t, filepath.Join(runs, "sweep", folder.Sweep), "{}")
	isTrial := func(dir string) bool { return folder.HoldsAny(folder.Above(dir), folder.Sweep) }
	if !isTrial(trial) || !isTrial(link) || isTrial(own) {
		t.Error("expected that a trial of a sweep is one, by any name, and a run beside the sweep none")
	}
}

// A list of extensions that no run wrote is refused: one that claims no choice, or fewer steps than
// before.
func TestForgedExtensionsAreRefused(t *testing.T) {
	for list, want := range map[string]error{
		`[{"step":12,"ledger_entries":12,"choices":0,"from":{"steps":12},"to":{"steps":24}}]`:  checkpoints.ErrCorrupt,
		`[{"step":12,"ledger_entries":12,"choices":-1,"from":{"steps":12},"to":{"steps":24}}]`: checkpoints.ErrCorrupt,
		`[{"step":12,"ledger_entries":12,"choices":4,"from":{"steps":24},"to":{"steps":24}}]`:  checkpoints.ErrCorrupt,
		`[{"step":-1,"ledger_entries":12,"choices":4,"from":{"steps":12},"to":{"steps":24}}]`:  checkpoints.ErrCorrupt,
		`[{"step":12,"ledger_entries":12,"choices":4,"from":{"steps":12},"to":{"steps":24}}]`:  checkpoints.ErrRollback, // of which the ledger knows nothing
	} {
		o := options(t)
		r := train(t, o)
		tiny.Write(t, filepath.Join(r.Run, folder.Extended), list)
		if _, err := Open(r.Run, o); !errors.Is(err, want) {
			t.Errorf("%s: found %v, expected an error that matches %v", list, err, want)
		}
	}
}
