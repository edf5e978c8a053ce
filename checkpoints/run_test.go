package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// A crashRun is a training run reduced to its files, as the crash tests drive it: it resumes what
// it finds, then records updates and saves, and notes what has been acknowledged to it.
type crashRun struct {
	files fileSystem
	dir   string

	journal      *Journal
	acknowledged int // entries that the ledger must hold from now on
	saved        int // step of the last checkpoint that Save acknowledged, -1 before the first
	mostLost     int // steps of the ledger that no checkpoint may hold after a crash, or 0 for any number
}

func (r *crashRun) ledgerPath() string     { return filepath.Join(r.dir, "ledger.jsonl") }
func (r *crashRun) checkpointsDir() string { return filepath.Join(r.dir, "checkpoints") }

// resume opens or creates the ledger and returns the step to go on from.
func (r *crashRun) resume() (step int, err error) {
	r.journal, err = openJournal(r.files, r.ledgerPath())
	if errors.Is(err, ErrUnfinished) { // stopped while it was created: nothing was released
		if err = r.files.Remove(r.ledgerPath()); err != nil {
			return 0, err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.journal, err = createJournal(r.files, r.ledgerPath(), "")
	}
	if err != nil {
		return 0, err
	}
	r.acknowledged = r.journal.Len() // what was read counts from now on
	s, _, err := latest(r.files, r.checkpointsDir())
	if errors.Is(err, ErrNoCheckpoint) {
		return 0, r.journal.Recover()
	}
	if err != nil {
		return 0, err
	}
	return s.Step, errors.Join(r.journal.Check(s.Claim()), r.journal.Recover())
}

// train runs steps, saving after every one that is a multiple of saveEvery.
func (r *crashRun) train(from, to, saveEvery int) error {
	for step := from + 1; step <= to; step++ {
		if err := r.journal.Append(step, event(1.1)); err != nil {
			return err
		}
		r.acknowledged = r.journal.Len()
		if step%saveEvery != 0 {
			continue
		}
		if _, err := save(r.files, r.checkpointsDir(), runState(step, r.journal)); err != nil {
			return err
		}
		r.saved = step
	}
	return nil
}

func runState(step int, j *Journal) *State {
	return &State{
		Step: step, Parameters: []float32{float32(step), 1, 2}, Slots: map[string][]float32{"momentum": {float32(-step), 0, 0}},
		LedgerEntries: j.Len(), LedgerHash: j.Hash(), PlanHash: "plan",
	}
}

// check opens what a crash left on files and holds it against what was acknowledged before.
func (r *crashRun) check(files fileSystem) error {
	after := crashRun{files: files, dir: r.dir}
	step, err := after.resume()
	if after.journal != nil {
		defer after.journal.Close()
	}
	if err != nil {
		return fmt.Errorf("the run does not resume: %w", err)
	}
	if step < r.saved {
		return fmt.Errorf("resumes after step %d, but step %d was saved", step, r.saved)
	}
	n := after.journal.Len()
	if n < r.acknowledged || n > r.acknowledged+1 {
		return fmt.Errorf("found %d ledger entries, expected the %d that were acknowledged or one more", n, r.acknowledged)
	}
	if lost := n - step; r.mostLost > 0 && lost > r.mostLost {
		return fmt.Errorf("resumes after step %d with %d ledger entries, expected at most %d steps to be lost", step, n, r.mostLost)
	}
	if n != after.journal.Ledger().Count() {
		return fmt.Errorf("%d entries, but %d events", n, after.journal.Ledger().Count())
	}
	if err := after.journal.Append(step+1, event(1.1)); err != nil {
		return fmt.Errorf("the resumed run cannot go on: %w", err)
	}
	return nil
}
