package books

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// of begins, or goes on with, a run that plans so many releases, and makes some of them.
func of(t *testing.T, registry, name string, plan, releases int) *Books {
	t.Helper()
	b := must(planned(registry, name, times(t, gradient, plan)))
	t.Cleanup(func() { b.Close() })
	must(0, os.WriteFile(filepath.Join(registry, name, folder.Config), people(t).YAML(), 0o600))
	for range releases {
		must(0, b.Append(b.Len()+1, gradient))
	}
	return b
}

// putBack leaves the first lines of the ledger of the data, in another file.
func putBack(t *testing.T, registry string, lines int) {
	t.Helper()
	path := filepath.Join(registry, folder.Datasets)
	all := strings.SplitAfter(tiny.Read(t, path), "\n")
	must(0, os.Remove(path))
	tiny.Write(t, path, strings.Join(all[:lines], ""))
}

// Where data have a limit, an older copy of their ledger is refused, whether the run that shows it is
// known there or not, at work or not; nothing is changed, and the newer copy is taken again. (Before,
// the run at work hid its releases: seed 201026 of the simulation passed a limit.)
func TestOlderLedgerOfALimitIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		lines  int // of header, limit, reservation, registration and three releases
		atWork bool
		want   string
	}{
		"at work, known":     {5, true, "found 1 releases of one, expected the 3 of its ledger"},
		"at work, not known": {2, true, "found 0 releases of one, expected the 3 of its ledger"},
		"ended, known":       {4, false, "found 0 releases of one, expected the 3 of its ledger"},
		"ended, not known":   {3, false, "found 0 releases of one, expected the 3 of its ledger"},
		"trial of a sweep":   {4, true, "found 0 releases of one, expected the 3 of its ledger"}, // with the sweep's reservation in front
	} {
		registry := t.TempDir()
		limit(t, registry, 4)
		if name == "trial of a sweep" {
			must(0, ReserveTrials(registry, []checkpoints.Reservation{{By: "one", Subject: registered("one").Data.Subject(), Planned: times(t, gradient, 3)}}, "sweep/.lock"))
		}
		one := of(t, registry, "one", 3, 3)
		newer := tiny.Read(t, filepath.Join(registry, folder.Datasets))
		if !test.atWork {
			must(0, one.Close())
		}
		putBack(t, registry, test.lines)
		before := tiny.Snapshot(t, registry)
		for what, err := range map[string]error{
			"a run": func() error { _, err := planned(registry, "two", times(t, gradient, 1)); return err }(),
			"a limit": func() error {
				_, err := SetLimit(registry, checkpoints.Limit{Subject: checkpoints.Subject{Data: "stripes"}, Epsilon: 3.9, Delta: 1e-5})
				return err
			}(),
		} {
			if !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: found %v, expected one line with %q", name, what, err, test.want)
			}
		}
		if after := tiny.Snapshot(t, registry); !maps.Equal(before, after) {
			t.Errorf("%s: a refusal changed something: %v, %v", name, before, after)
		}
		tiny.Write(t, filepath.Join(registry, folder.Datasets), newer)
		must(0, of(t, registry, "two", 1, 1).Close())
	}
}

// A kill, a failed write and a run at work leave the ledger of the data one line behind. Such a ledger
// is no older copy, and the line counts.
func TestOneLineMayBeInFlight(t *testing.T) {
	for _, atWork := range []bool{true, false} {
		registry := t.TempDir()
		limit(t, registry, 4)
		one := of(t, registry, "one", 3, 1)
		must(0, one.Journal.Append(2, gradient))
		if !atWork {
			must(0, one.Close())
		}
		of(t, registry, "two", 1, 1)
		if s := state(t, registry); s.Spent != must(chosen(times(t, gradient, 3), 1e-5)) {
			t.Errorf("found %+v, expected the use of 3 releases", s)
		}
	}
}

// The lines that end an epoch are of one step and reach the run's own ledger together; a kill may
// leave them there alone. Releases of an epoch that an older copy lacks are of one step each.
func TestEndOfAnEpochIsInFlight(t *testing.T) {
	bins := accountant.BallsInBins{Bins: 8, Event: accountant.Gaussian{NoiseMultiplier: 20}}
	for _, killed := range []bool{true, false} {
		registry := t.TempDir()
		limit(t, registry, 4)
		one := must(planned(registry, "one", times(t, bins, 8)))
		if must(0, one.Append(1, bins)); killed {
			must(0, one.Journal.AppendAll(1, bins, 7))
		} else {
			must(0, errors.Join(one.Append(2, bins), one.Append(3, bins)))
			putBack(t, registry, 5)
		}
		must(0, one.Close())
		two, err := planned(registry, "two", times(t, bins, 1))
		if err == nil {
			must(0, two.Close())
		}
		if killed != (err == nil) || err != nil && !errors.Is(err, checkpoints.ErrRollback) {
			t.Errorf("killed %t: found error %v, expected a refusal of an older copy alone", killed, err)
		}
	}
}

// What only the ledger of a run knows is registered when the shared one is opened, unless the data
// have lost the limit with which it began, or it is not the ledger that is known.
func TestRunCatchesUp(t *testing.T) {
	for name, test := range map[string]struct {
		limit, fork bool
		want        int
	}{"catches up": {want: 3}, "lost limit": {limit: true, want: 2}, "fork": {fork: true, want: 2}} {
		registry, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
		must(0, of(t, registry, "one", 3, 1).Close())
		own := filepath.Join("one", folder.Ledger)
		must(0, errors.Join(os.Remove(filepath.Join(registry, "one", folder.Config)), os.CopyFS(other, os.DirFS(registry))))
		for dir, events := range map[string][]accountant.Event{registry: {gradient}, other: {sampled, sampled}} {
			b := must(planned(dir, "one", times(t, gradient, 2)))
			for _, e := range events {
				must(0, b.Append(b.Len()+1, e))
			}
			must(0, b.Close())
		}
		switch {
		case test.fork: // shared: 2 releases, own: 3 of which the second is another one
			tiny.Write(t, filepath.Join(registry, own), tiny.Read(t, filepath.Join(other, own)))
			if known := must(ReadDatasets(registry)); known.Members[0].Entries != 2 {
				t.Errorf("found %+v, expected what is known, not another ledger", known.Members)
			}
		default: // shared: 2 releases, own: 3
			registry = other
			putBack(t, registry, 4)
		}
		if test.limit {
			tiny.Write(t, filepath.Join(registry, "one", folder.Config), string(people(t, "data.limit.epsilon=3", "data.limit.delta=1e-5").YAML()))
		}
		d, err := OpenDatasets(registry)
		if err == nil {
			must(0, d.Close())
		}
		info := must(checkpoints.ReadDatasets(filepath.Join(registry, folder.Datasets)))
		if errors.Is(err, checkpoints.ErrRollback) != test.limit || info.Members[0].Entries != test.want {
			t.Errorf("%s: found %d releases and error %v, expected %d", name, info.Members[0].Entries, err, test.want)
		}
	}
}

// A run that has released nothing is missed by no ledger, but its limit is.
func TestLimitOfARunWithoutReleases(t *testing.T) {
	registry := t.TempDir()
	must(0, of(t, registry, "one", 3, 0).Close())
	tiny.Write(t, filepath.Join(registry, "one", folder.Config), string(people(t, "data.limit.epsilon=3", "data.limit.delta=1e-5").YAML()))
	putBack(t, registry, 1)
	if _, err := Show(registry); !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), "found no limit of people") {
		t.Errorf("found %v, expected that the limit is missed", err)
	}
}

// A trial without a folder has its releases in the ledger of the data, or is lost.
func TestLostTrials(t *testing.T) {
	registry := t.TempDir()
	b := begun(t, registry, registered("s/a"))
	must(0, errors.Join(b.Append(1, gradient), b.Close(), os.RemoveAll(filepath.Join(registry, "s", "a"))))
	for _, test := range []struct {
		rows string
		want error
		lost bool
	}{
		{`{"trial":"a","ledger_entries":1}`, nil, false},
		{`{"trial":"a","ledger_entries":2}`, checkpoints.ErrRollback, false},
		{`{"trial":"b","ledger_entries":1}`, checkpoints.ErrRollback, true},
		{"no row", checkpoints.ErrCorrupt, true},
	} {
		tiny.Write(t, filepath.Join(registry, "s", folder.Rows), test.rows+"\n")
		if _, err := Show(registry); !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: found %v, expected %v", test.rows, err, test.want)
		}
		if list := must(List(registry)); slices.ContainsFunc(list, func(l Listed) bool { return l.Lost }) != test.lost {
			t.Errorf("%s: found %+v, expected a lost trial: %t", test.rows, list, test.lost)
		}
	}
}

// Without a limit an older copy catches up; till then what runs at work have released, which they
// alone can tell, counts in every total.
func TestTotalsCountWhatRunsAtWorkHaveReleased(t *testing.T) {
	registry := t.TempDir()
	one := of(t, registry, "one", 3, 3) // stays at work
	putBack(t, registry, 2)
	two := of(t, registry, "two", 2, 2)
	together := must(two.Together())
	if want := must(chosen(times(t, gradient, 5), 1e-5)); together.DatasetReleases != 5 || together.DatasetEpsilon != want {
		t.Errorf("found %+v, expected 5 releases with ε = %v", together, want)
	}
	putBack(t, registry, 1) // which does not know it: the configuration in its folder tells the data
	if m, ok := must(ReadDatasets(registry)).Member(one.Info().Run); m.Entries != 3 || m.Data.Name != "people" || !ok {
		t.Errorf("found %+v, expected the 3 releases of a run that is not registered", m)
	}
	if i, err := Inspect(filepath.Join(registry, "one")); err != nil || i.Warning != "" {
		t.Errorf("found %q (%v), expected the ledger that the run names, whether it knows the run or not", i.Warning, err)
	}
}

// A limit that a task reads may be gone from the ledger, with its reservation, before anybody can
// read that the task is there: it asks once more when that can be read. From then on others refuse
// the older copy, until the task has a result.
func TestTaskUnderAnOlderLedger(t *testing.T) {
	registry := t.TempDir()
	limit(t, registry, 3)
	r := registered("sweep/a")
	r.Planned = &checkpoints.Planned{Releases: times(t, gradient, 2)}
	reserved := []checkpoints.Reservation{{By: "sweep/a", Subject: r.Data.Subject(), Planned: times(t, gradient, 2)}}
	must(0, ReserveTrials(registry, reserved, ""))
	newer := tiny.Read(t, filepath.Join(registry, folder.Datasets))
	dir := filepath.Join(registry, "sweep", "a")
	disk.System = &visitor{at: "a.jsonl", opened: func() { putBack(t, registry, 2) }}
	_, err := create(dir, registry, r, true)
	disk.System = disk.Real{}
	if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "--collect") {
		t.Fatalf("found %v, expected that a reservation which is gone by then is missed", err)
	}
	must(0, os.RemoveAll(filepath.Join(registry, "sweep")))
	must(0, os.RemoveAll(filepath.Join(registry, folder.Uncollected)))

	tiny.Write(t, filepath.Join(registry, folder.Datasets), newer)
	task := must(create(dir, registry, r, true))
	defer task.Close()
	must(0, os.WriteFile(filepath.Join(registry, "sweep", folder.Sweep), []byte("{}"), 0o600))
	must(0, os.WriteFile(filepath.Join(dir, folder.Config), people(t).YAML(), 0o600))
	refused := func() {
		putBack(t, registry, 2)
		if _, err := planned(registry, "one", times(t, gradient, 1)); !errors.Is(err, checkpoints.ErrRollback) || !strings.Contains(err.Error(), "found no room that is reserved for sweep/a") {
			t.Errorf("found %v, expected that nobody takes the room of a task at work", err)
		}
	}
	refused() // which has released nothing yet
	tiny.Write(t, filepath.Join(registry, folder.Datasets), newer)
	must(0, task.Append(1, gradient))
	ledger := tiny.Read(t, apartLedger(registry, "sweep/a"))
	must(0, os.Remove(apartLedger(registry, "sweep/a")))
	must(0, of(t, registry, "before", 1, 1).Close()) // the reservation shows that nothing else is lost
	must(0, os.RemoveAll(filepath.Join(registry, "before")))
	tiny.Write(t, apartLedger(registry, "sweep/a"), ledger)
	refused()
	tiny.Write(t, filepath.Join(dir, folder.Row), `{"trial":"a"}`) // as it has when it has ended: its room was given back
	must(0, of(t, registry, "one", 1, 1).Close())
}

// A limit that is set while a run begins, after it has read that there is none and before anybody
// can read that it is there, holds for the run.
func TestLimitSetWhileARunBegins(t *testing.T) {
	for before := range 2 { // the ledger is unlocked ahead of the reservation, and after it
		registry := t.TempDir()
		must(0, must(OpenDatasets(registry)).Close())
		r := registered("one")
		r.Planned = &checkpoints.Planned{Releases: times(t, gradient, 500)}
		disk.System = &visitor{at: folder.Datasets, before: before, unlocked: func() { limit(t, registry, 1) }}
		_, err := create(filepath.Join(registry, "one"), registry, r, false)
		disk.System = disk.Real{}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("found %v, expected that the limit refuses the run", err)
		}
	}
}

// visitor is the real disk. It calls opened before it opens a file of that name, or unlocked after
// it has unlocked one, once, but not the first ones before.
type visitor struct {
	disk.Real
	at               string
	before           int
	opened, unlocked func()
}

func once(f *func()) {
	if visit := *f; visit != nil {
		*f = nil
		visit()
	}
}

func (v *visitor) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	if filepath.Base(name) != v.at {
		return v.Real.OpenFile(name, flag, perm)
	}
	once(&v.opened)
	f, err := v.Real.OpenFile(name, flag, perm)
	return visited{f, v}, err
}

type visited struct {
	disk.File
	by *visitor
}

func (f visited) Unlock() error {
	err := f.File.Unlock()
	if f.by.before--; f.by.before < 0 {
		once(&f.by.unlocked)
	}
	return err
}
