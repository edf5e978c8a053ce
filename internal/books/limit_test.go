package books

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/setup"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

func times(t *testing.T, e accountant.Event, n int) *accountant.Ledger {
	t.Helper()
	l := new(accountant.Ledger)
	must(0, l.Add(e, n))
	return l
}

func limit(t *testing.T, registry string, epsilon float64) {
	t.Helper()
	must(SetLimit(registry, checkpoints.Limit{Subject: checkpoints.Subject{Data: "stripes"}, Epsilon: epsilon, Delta: 1e-5}))
}

// planned begins a run, or goes on with one that is there.
func planned(registry, name string, plan *accountant.Ledger) (*Books, error) {
	r := registered(name)
	r.Planned = &checkpoints.Planned{Releases: plan}
	dir := filepath.Join(registry, name)
	if _, err := os.Stat(dir); err != nil {
		b, err := create(dir, registry, r, false)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		return b, nil
	}
	b, err := Open(dir)
	if err != nil {
		return nil, err
	}
	all := b.Ledger()
	for _, e := range plan.Entries() {
		if err := all.Add(e.Event, e.Count); err != nil {
			return nil, err
		}
	}
	if err := b.Settle(r, all); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func state(t *testing.T, registry string) LimitState {
	t.Helper()
	s := must(ShowLimit(registry, "stripes"))
	return s
}

// Whatever somebody does, one command after the other or side by side, with runs that are killed,
// gone on with, deleted, or release less or more than they planned: the limit is not passed, and
// what runs at work may still release is kept for them.
func TestLimitIsNeverPassed(t *testing.T) {
	refused, released := 0, 0
	for seed := range uint64(6) {
		registry, src := t.TempDir(), rand.New(rand.NewPCG(seed, 24))
		limit(t, registry, 4)
		open := map[string]*Books{}
		left := map[string]int{}
		for i := range 60 {
			name := fmt.Sprintf("run-%d", src.IntN(8))
			e := accountant.Gaussian{NoiseMultiplier: []float64{6, 12, 24}[src.IntN(3)]}
			b := open[name]
			switch n := 1 + src.IntN(12); {
			case b == nil:
				b, err := planned(registry, name, times(t, e, n))
				if err == nil {
					open[name], left[name] = b, n
					for range src.IntN(n + 1) {
						if err := b.Append(b.Len()+1, e); err != nil {
							t.Fatalf("seed %d, action %d: a release that was reserved: %v", seed, i, err)
						}
						released++
					}
				} else if errors.Is(err, ErrLimit) && !strings.Contains(err.Error(), "\n") {
					refused++
				} else if !errors.Is(err, checkpoints.ErrRollback) { // in place of one that was deleted
					t.Fatal(err)
				}
			case src.IntN(3) == 0: // beyond the plan
				if err := b.Append(b.Len()+1, e); errors.Is(err, release.ErrBudget) {
					refused++
				} else if err != nil {
					t.Fatal(err)
				} else {
					released++
				}
			case src.IntN(3) == 0: // killed: nothing is given back by it
				b.reserved = nil
				fallthrough
			default:
				b.Close()
				delete(open, name)
				if src.IntN(6) == 0 {
					must(0, os.RemoveAll(filepath.Join(registry, name)))
				}
			}
			if s := state(t, registry); !(s.Spent <= s.Reserved && s.Reserved <= 4) {
				t.Fatalf("seed %d, action %d: found %+v, expected at most 4", seed, i, s)
			}
		}
		for _, b := range open {
			b.Close()
		}
	}
	if refused < 10 || released < 50 {
		t.Errorf("found %d refusals and %d releases, expected a test of both", refused, released)
	}
}

// An entry that reached the run's own ledger alone, because the ledger of the data could not be
// written, was never released, but nobody can tell: it counts for all others at once, also after its
// process has ended, so nobody takes its room.
func TestEntryWithoutReleaseKeepsItsRoom(t *testing.T) {
	registry := t.TempDir()
	limit(t, registry, 2)
	e := accountant.Gaussian{NoiseMultiplier: 10}
	one, two := must(planned(registry, "one", times(t, e, 1))), must(planned(registry, "two", times(t, e, 1)))
	must(0, one.Journal.Append(1, e))
	must(0, one.Close())
	refused := error(nil)
	for refused == nil {
		refused = two.Append(two.Len()+1, e) // beyond its plan as long as there is room
	}
	must(0, two.Close())
	all := two.Len() + 1
	if s := state(t, registry); !errors.Is(refused, ErrLimit) || !(s.Spent <= 2) || s.Spent != must(chosen(times(t, e, all), 1e-5)) {
		t.Fatalf("found %+v and error %v, expected that the limit ends the other run with %d entries", s, refused, all)
	}
	must(0, os.WriteFile(filepath.Join(registry, "one", folder.Config), people(t).YAML(), 0o600)) // which makes it a run
	must(0, must(OpenDatasets(registry)).Close())
	if s := state(t, registry); s.Spent != must(chosen(times(t, e, all), 1e-5)) {
		t.Errorf("found %+v, expected no other use of the limit when the ledger of the data has caught up", s)
	}
	for _, name := range []string{"two", "three"} {
		if _, err := planned(registry, name, times(t, e, 1)); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: found error %v, expected that nothing more is admitted", name, err)
		}
	}
}

// Of runs that begin at the same time as many reserve their plans as fit.
func TestReservationsSideBySide(t *testing.T) {
	registry := t.TempDir()
	limit(t, registry, 2)
	e := accountant.Gaussian{NoiseMultiplier: 10}
	fits := 0
	for all := new(accountant.Ledger); ; fits++ {
		must(0, all.Add(e, 3))
		if epsilon, err := chosen(all, 1e-5); err != nil || epsilon > 2 {
			break
		}
	}
	var mu sync.Mutex
	var begun []*Books
	var all sync.WaitGroup
	for i := range fits + 5 {
		all.Go(func() {
			b, err := planned(registry, fmt.Sprintf("run-%d", i), times(t, e, 3))
			for err != nil && strings.Contains(err.Error(), "cannot be registered") { // another one is being begun, without a configuration here
				b, err = planned(registry, fmt.Sprintf("run-%d", i), times(t, e, 3))
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				begun = append(begun, b)
			} else if !errors.Is(err, ErrLimit) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(begun) != fits || fits < 2 {
		t.Errorf("%d runs began, expected the %d that fit", len(begun), fits)
	}
	// One of them is killed before its first release: what it had reserved is free.
	begun[0].reserved = nil
	for i, b := range begun {
		defer b.Close()
		if i == 0 {
			b.Close()
		}
	}
	b := must(planned(registry, "after", times(t, e, 3)))
	if must(0, b.Append(1, accountant.Gaussian{NoiseMultiplier: 1e6})); !account.Holds(b.reserved, times(t, e, 3)) {
		t.Errorf("found %v reserved after a release beyond the plan, expected the plan too", b.reserved.Entries())
	}
	b.Close()
}

// A limit on examples, or on their labels, persons or clients, stands against a run without privacy;
// that on other examples does not, whatever its name ends with.
func TestLimitIsOfTheSameExamples(t *testing.T) {
	c := tiny.Parse(t, "privacy.none=true")
	for _, test := range []struct {
		data    string
		unit    checkpoints.Unit
		refused bool
	}{
		{"pets", checkpoints.Unit{Kind: checkpoints.Example}, true}, {"labels of pets", checkpoints.Unit{Kind: checkpoints.Label}, true},
		{"persons by owner of pets", checkpoints.Unit{Kind: checkpoints.Person, By: "owner"}, true}, {"parts of pets", checkpoints.Unit{}, true},
		{"photos of pets", checkpoints.Unit{Kind: checkpoints.Example}, false},
	} {
		registry := t.TempDir()
		must(0, begun(t, registry, registered("one")).Close())
		must(SetLimit(registry, checkpoints.Limit{Subject: checkpoints.Subject{Data: test.data, Unit: test.unit}, Epsilon: 3, Delta: 1e-5}))
		err := RefuseUnprotected(registry, c, setup.Outline{Name: "pets", Examples: 300})
		if errors.Is(err, ErrLimit) != test.refused {
			t.Errorf("a run without privacy on pets beside a limit on %s: found %v, expected a refusal: %t", test.data, err, test.refused)
		}
	}
}

// A limit is not set on examples that a baseline has used, or a run with private labels.
func TestNoLimitBehindAnUnprotectedRun(t *testing.T) {
	of := func(registry, data string) error {
		_, err := SetLimit(registry, checkpoints.Limit{Subject: checkpoints.Subject{Data: data}, Epsilon: 3, Delta: 1e-5})
		return err
	}
	baseline := t.TempDir()
	must(0, os.Mkdir(filepath.Join(baseline, "bare"), 0o700))
	tiny.Write(t, filepath.Join(baseline, "bare", folder.Config), string(people(t, "privacy.none=true").YAML()))
	labels := t.TempDir()
	r := registered("one")
	r.Data = checkpoints.Data{Name: "labels of people", Examples: 300, Unit: checkpoints.Unit{Kind: checkpoints.Label}}
	b := begun(t, labels, r)
	must(0, errors.Join(b.Append(1, gradient), b.Close()))
	for registry, run := range map[string]string{baseline: "the run bare with privacy.none", labels: "the run one with privacy.unit label"} {
		if err := of(registry, "people"); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), run) {
			t.Errorf("found %v, expected a refusal for %s", err, run)
		}
		if err := of(registry, "others"); err != nil {
			t.Errorf("found %v for other examples", err)
		}
	}
}

// A limit comes before the first release and while nobody is at work, is never raised after one,
// and may be lowered to what was spent. What is refused changes nothing.
func TestSetLimit(t *testing.T) {
	registry := t.TempDir()
	e := accountant.Gaussian{NoiseMultiplier: 10}
	refused := func(want string, l checkpoints.Limit) {
		t.Helper()
		before := tiny.Must(os.ReadFile(filepath.Join(registry, folder.Datasets)))(t)
		if _, err := SetLimit(registry, l); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, expected one line with %q", err, want)
		}
		if after, err := os.ReadFile(filepath.Join(registry, folder.Datasets)); err != nil || string(after) != string(before) {
			t.Errorf("a refusal changed the ledger (%v)", err)
		}
	}
	b := must(planned(registry, "before", times(t, e, 2)))
	of := func(epsilon, delta float64) checkpoints.Limit {
		return checkpoints.Limit{Subject: checkpoints.Subject{Data: "stripes"}, Epsilon: epsilon, Delta: delta}
	}
	refused("found the run before at work on it, expected none", of(3, 1e-5))
	for _, l := range []checkpoints.Limit{of(0, 1e-5), of(math.Inf(1), 1e-5), of(math.NaN(), 1e-5), of(3, 0), of(3, 1)} {
		refused("expected a finite ε above 0 and a δ in (0, 1)", l)
	}
	b.Close()
	if !held(registry, "before/lock that somebody deleted") {
		t.Error("the room of a run whose lock was deleted is free, expected that nobody can tell")
	}
	limit(t, registry, 3)
	limit(t, registry, 5) // nothing was released yet
	b = must(planned(registry, "before", times(t, e, 3)))
	defer b.Close()
	refused("after 0 releases, expected at most the ε = 5", of(6, 1e-5)) // which a run at work has reserved of
	must(0, b.Append(1, e))
	refused("found ε = 6 at δ = 1e-05 after 1 releases, expected at most the ε = 5", of(6, 1e-5))
	refused("expected at most", of(4, 1e-4))
	refused("found ε = 0.01, expected at least the", of(0.01, 1e-5))
	s := state(t, registry)
	if !(0 < s.Spent && s.Spent < s.Reserved) {
		t.Errorf("found %+v, expected something spent and more reserved", s)
	}
	limit(t, registry, s.Reserved)
	if err := b.Append(2, e); err != nil {
		t.Errorf("what was reserved is refused after the limit was lowered: %v", err)
	}
	if err := errors.Join(b.Append(3, e), b.Append(4, e)); !errors.Is(err, release.ErrBudget) || b.Len() != 3 {
		t.Errorf("found %v after %d releases, expected that the fourth passes the limit", err, b.Len())
	}

	late := t.TempDir()
	b = must(planned(late, "run", times(t, e, 1)))
	must(0, errors.Join(b.Append(1, e), b.Close()))
	registry = late
	refused("found 1 releases on it, expected none", of(3, 1e-5))
}

// A task of a sweep on data with a limit needs a reservation that was made for it before, of these
// data, large enough, and not one that ends with a process.
func TestLimitOfTasks(t *testing.T) {
	registry := t.TempDir()
	limit(t, registry, 3)
	e := accountant.Gaussian{NoiseMultiplier: 10}
	r := registered("sweep/a")
	r.Planned = &checkpoints.Planned{Releases: times(t, e, 2)}
	dir := filepath.Join(registry, "sweep", "a")
	if _, err := create(dir, registry, r, true); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "--collect") {
		t.Fatalf("found %v, expected what to do first", err)
	}
	must(0, os.RemoveAll(dir))
	on := r.Data.Subject()
	reserve := func(n int, lock string) error {
		return ReserveTrials(registry, []checkpoints.Reservation{
			{By: "sweep/a", Subject: on, Planned: times(t, e, 2)}, {By: "sweep/b", Subject: on, Planned: times(t, e, n)},
		}, lock)
	}
	if err := reserve(500, ""); !errors.Is(err, ErrLimit) {
		t.Fatalf("found %v for a sweep beyond the limit", err)
	}
	must(0, errors.Join(reserve(4, ""), reserve(4, ""), reserve(4, "sweep/.lock")))
	want, err := chosen(times(t, e, 6), 1e-5)
	if s := state(t, registry); err != nil || s.Spent != 0 || s.Reserved != want {
		t.Errorf("found %+v (%v), expected %v reserved", s, err, want)
	}
	b := must(create(dir, registry, r, true))
	defer b.Close()
	must(0, b.Append(1, e))
	if s := state(t, registry); s.Reserved != want {
		t.Errorf("found %+v after one release, expected %v reserved", s, want)
	}
	if err := b.AppendAll(2, e, 2); !errors.Is(err, release.ErrBudget) || b.Len() != 1 {
		t.Errorf("found %v beyond what was reserved, together", err)
	}
	must(0, b.Append(2, e))
	if err := b.Append(3, e); !errors.Is(err, release.ErrBudget) {
		t.Errorf("found %v beyond what was reserved", err)
	}
	if s := state(t, registry); s.Reserved != want || s.Spent == 0 {
		t.Errorf("found %+v, expected %v reserved and a part of it spent", s, want)
	}
	must(0, reserve(0, ""))
	if s := state(t, registry); s.Reserved != s.Spent {
		t.Errorf("found %+v, expected that what ended is given back", s)
	}
	must(SetLimit(registry, checkpoints.Limit{Subject: checkpoints.Subject{Data: "dots", Unit: on.Unit}, Epsilon: 3, Delta: 1e-5}))
	must(0, ReserveTrials(registry, []checkpoints.Reservation{{By: "sweep/c", Subject: on, Planned: times(t, e, 2)}}, "sweep/.lock"))
	if s := must(ShowLimit(registry, "dots")); s.Reserved != 0 {
		t.Errorf("found %+v, expected nothing reserved of the limit of other data", s)
	}
	for what, change := range map[string]func(r *checkpoints.Registration){
		"of other data":   func(r *checkpoints.Registration) { r.Data.Name = "dots" },
		"too small":       func(r *checkpoints.Registration) { r.Planned = &checkpoints.Planned{Releases: times(t, e, 3)} },
		"under a lock":    func(r *checkpoints.Registration) { r.Path = "sweep/c" },
		"for another one": func(r *checkpoints.Registration) { r.Path = "sweep/d" },
	} {
		other := r
		change(&other)
		if _, err := create(dir, registry, other, true); !errors.Is(err, ErrLimit) {
			t.Errorf("found %v with a reservation %s, expected none that counts", err, what)
		}
	}
}

// A run does not begin without the limit that its configuration names, if somebody takes the ledger
// with it away in between.
func TestNewRunKeepsItsLimit(t *testing.T) {
	registry := t.TempDir()
	dir := filepath.Join(registry, "run")
	must(0, os.Mkdir(dir, 0o700))
	c := tiny.Parse(t, "privacy.epsilon=1", "data.limit.epsilon=2", "data.limit.delta=1e-4")
	_, _, err := Begin(dir, registry, c, func(*configs.Config) []byte {
		must(0, os.Remove(filepath.Join(registry, folder.Datasets)))
		return nil
	}, setup.Outline{Name: "stripes", Examples: 300}, new(accountant.Ledger), false)
	if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), "found no limit of stripes") {
		t.Errorf("found %v, expected a refusal that names the limit", err)
	}
	other := t.TempDir()
	must(0, os.Mkdir(filepath.Join(other, "run"), 0o700))
	b, r, err := Begin(filepath.Join(other, "run"), other, c, (*configs.Config).YAML, setup.Outline{Name: "stripes", Examples: 300}, new(accountant.Ledger), false)
	if err != nil || r.Planned.Epsilon != 1 || must(ReadDatasets(other)).Members[0].Planned.Epsilon != 1 || b.Close() != nil {
		t.Errorf("found %+v (%v), expected a plan with the budget", r, err)
	}
	limit(t, registry, 2) // at δ = 1e-5
	if err := EnsureLimit(registry, c, checkpoints.Subject{Data: "stripes"}); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "delta 1e-05 that were set") {
		t.Errorf("found %v for a configuration with another δ, expected the limit that is set", err)
	}
}
