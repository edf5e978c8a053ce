package checkpoints

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/disk/disktest"
	"dpsgd/internal/slow"
)

// maxPending bounds the subsets of changes that are tried; the code under test never has more than
// this pending.
const maxPending = 8

// afterPowerLoss returns every file system that a power loss at this moment may leave; of the
// writes, the last one may be there in part.
func afterPowerLoss(d *disktest.Disk) (states []*disktest.Disk) {
	pending := d.Pending()
	if len(pending) > maxPending {
		panic(fmt.Sprintf("%d changes are pending", len(pending)))
	}
	for subset := range 1 << len(pending) {
		var chosen []disktest.Change
		for i, c := range pending {
			if subset>>i&1 == 1 {
				chosen = append(chosen, c)
			}
		}
		states = append(states, d.AfterPowerLoss(chosen))
		if n := len(chosen); n > 0 && chosen[n-1].Bytes() > 1 {
			for _, part := range []int{1, chosen[n-1].Bytes() / 2, chosen[n-1].Bytes() - 1} {
				torn := append(slices.Clone(chosen[:n-1]), chosen[n-1].Torn(part))
				states = append(states, d.AfterPowerLoss(torn))
			}
		}
	}
	return states
}

// beforeChanges calls f before every change of a disk and every sync.
func beforeChanges(d *disktest.Disk, f func()) {
	d.Before = func(op *disktest.Operation) error {
		if op.Changes || strings.HasPrefix(op.Name, "sync") {
			f()
		}
		return nil
	}
}

// aRun is a run on a disk in memory with its folders.
func aRun(together func(a, b func() error) error, mostLost int) (*crashRun, *disktest.Disk) {
	dir := filepath.Join("runs", "one")
	d := disktest.New("runs", dir, filepath.Join(dir, "checkpoints"))
	return &crashRun{files: d, dir: dir, saved: -1, mostLost: mostLost, together: together}, d
}

// losePower trains a run on a disk in memory, with a power loss at every moment, and checks everything
// that each may leave. It returns the number of contents that were checked and what was wrong with
// them.
func losePower(run *crashRun, d *disktest.Disk, steps, saveEvery int) (states int, violations []error) {
	beforeChanges(d, func() {
		for _, after := range afterPowerLoss(d) {
			states++
			if err := run.check(after); err != nil {
				violations = append(violations, err)
			}
		}
	})
	step := must(run.resume())
	must(0, run.train(step, step+steps, saveEvery))
	return states, violations
}

// With a power loss before every single change and sync, and from each of the contents it may
// leave, the run resumes without having forgotten anything. With a checkpoint after every step,
// each durable before the next event is written, that costs one step at most.
func TestPowerLoss(t *testing.T) {
	for _, test := range []struct {
		together                           func(a, b func() error) error
		steps, saveEvery, mostLost, states int
	}{
		{nil, 50, 5, 0, 500}, {nil, 20, 1, 1, 200}, {orders["the run first"], 10, 0, 0, 100}, {orders["its data first"], 10, 0, 0, 100},
	} {
		run, d := aRun(test.together, test.mostLost)
		states, violations := losePower(run, d, test.steps, test.saveEvery)
		for _, err := range violations[:min(len(violations), 5)] {
			t.Errorf("%d steps: %v", test.steps, err)
		}
		if states < test.states {
			t.Errorf("%d steps: %d states were checked, expected more", test.steps, states)
		}
	}
}

// The test can fail: without syncs of files, or of directories, and with a checkpoint after every
// other step where one step may be lost, it finds violations.
func TestPowerLossFindsViolations(t *testing.T) {
	for name, broken := range map[string]struct {
		together                   func(a, b func() error) error
		steps, saveEvery, mostLost int
		blindSync, blindSyncDir    bool
	}{
		"no sync of files":                {nil, 3, 2, 0, true, false},
		"no sync of directories":          {nil, 3, 2, 0, false, true},
		"no sync of directories, a step":  {nil, 3, 1, 1, false, true},
		"too few checkpoints":             {nil, 20, 2, 1, false, false},
		"two ledgers, no sync of files":   {inOrder, 1, 0, 0, true, false},
		"two ledgers, none of their name": {inOrder, 1, 0, 0, false, true},
	} {
		run, d := aRun(broken.together, broken.mostLost)
		d.BlindSync, d.BlindSyncDir = broken.blindSync, broken.blindSyncDir
		if _, violations := losePower(run, d, broken.steps, broken.saveEvery); len(violations) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// Lines whose sync failed are in the file, for as long as the system runs: they count, and the next
// append makes them durable. Linux would not: after a failed sync it takes the lines for written.
func TestLineIsWrittenAgainAfterAFailedSync(t *testing.T) {
	d := disktest.New("one")
	path := filepath.Join("one", "ledger.jsonl")
	j := must(createJournal(d, path, ""))
	must(0, j.Append(1, event(1.1)))
	d.Before = func(op *disktest.Operation) error {
		if op.Name == "sync" {
			return errors.New("the disk is not there")
		}
		return nil
	}
	wantError(t, j.AppendAll(2, event(1.1), 20), ErrJournalFailed)
	d.Before = nil
	must(0, j.Close())
	again := must(openJournal(d, path))
	must(0, again.Append(3, event(1.1)))
	for _, after := range afterPowerLoss(d) {
		found, err := openJournal(after, path)
		if err != nil || found.Len() != 22 {
			t.Errorf("found error %v after a power loss, expected all 22 entries", err)
		}
	}
}

// So are lines of several processes whose syncs failed.
func TestLinesAreWrittenAgainAfterFailedSyncs(t *testing.T) {
	d := disktest.New("one")
	path := filepath.Join("one", "datasets.jsonl")
	put := func(of *Datasets, epsilon float64) error {
		return of.Put(func(DatasetsInfo) Terms { return Terms{Limit: &Limit{Subject{Data: "stripes"}, epsilon, 1e-5}} })
	}
	datasets := must(createDatasets(d, path))
	for epsilon := 1.; epsilon < 4; epsilon++ {
		d.Before = func(op *disktest.Operation) error {
			if op.Name == "sync" && epsilon < 3 {
				return errors.New("the disk is not there")
			}
			return nil
		}
		if err := put(datasets, epsilon); (err == nil) != (epsilon == 3) {
			t.Errorf("limit %v: found %v", epsilon, err)
		}
		must(0, datasets.Close())
		datasets = must(openDatasets(d, path))
	}
	for _, after := range afterPowerLoss(d) {
		if found, err := openDatasets(after, path); err != nil || found.book.lines != 4 {
			t.Errorf("found error %v after a power loss, expected all 4 lines", err)
		}
	}
}

// A run is not lost with the names of the folders that were made for it, as it would be if that of
// all runs had no sync. (Whoever creates a ledger syncs the name of the folder that it lies in, too.)
func TestPowerLossOfNewFolders(t *testing.T) {
	blind := func(files fileSystem, dir string) error { return files.Mkdir(dir, dirPerm) }
	for name, test := range map[string]struct {
		parent, own func(files fileSystem, dir string) error
		lost        bool // a run without a ledger of its data
	}{
		"both are synced": {makeDir, newDir, false},
		"the run's alone": {blind, newDir, true},
		"that of all":     {makeDir, blind, false},
	} {
		for order, together := range map[string]func(a, b func() error) error{"alone": nil, "first": inOrder, "last": orders["its data first"]} {
			d := disktest.New("here")
			run := &crashRun{files: d, dir: filepath.Join("here", "new", "runs", "one"), saved: -1, together: together}
			must(0, makeDir(d, filepath.Join("here", "new")))
			must(0, errors.Join(test.parent(d, filepath.Dir(run.dir)), test.own(d, run.dir)))
			if _, violations := losePower(run, d, 2, 0); (len(violations) > 0) != (test.lost && together == nil) {
				t.Errorf("%s, %s: found %d violations, expected some: %v", name, order, len(violations), test.lost && together == nil)
			}
		}
	}
}

// A second power loss while the run recovers from the first one, wherever that cut it off, and
// makes again what it cost: each costs one step at most.
func TestSecondPowerLoss(t *testing.T) {
	for name, test := range map[string]struct {
		together                          func(a, b func() error) error
		steps, saveEvery, again, mostLost int
		stride                            int // of the contents that are gone on with
	}{
		"recovery":       {nil, 6, 3, 1, 0, 1},
		"a step is lost": {nil, 4, 1, 2, 2, 3},
		"the run first":  {orders["the run first"], 2, 0, 1, 0, 3},
		"its data first": {orders["its data first"], 2, 0, 1, 0, 3},
	} {
		run, first := aRun(test.together, 0)
		beforeChanges(first, func() {
			for i, second := range afterPowerLoss(first) {
				if i%test.stride != 0 && !slow.Asked() {
					continue
				}
				again := &crashRun{files: second, dir: run.dir, together: test.together, acknowledged: run.acknowledged, saved: run.saved, mostLost: test.mostLost}
				if _, violations := losePower(again, second, test.again, min(test.saveEvery, 1)); len(violations) > 0 {
					t.Fatalf("%s: %v", name, violations[0])
				}
			}
		})
		step := must(run.resume())
		must(0, run.train(step, test.steps, test.saveEvery))
	}
}
