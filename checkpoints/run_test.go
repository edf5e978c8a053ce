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
	// together is the order in which the run's ledger and that of its data become durable; the run
	// of nil stands alone.
	together func(a, b func() error) error

	journal      *Journal
	datasets     *Datasets
	acknowledged int // entries that every ledger must hold from now on
	saved        int // step of the last checkpoint that Save acknowledged, -1 before the first
	mostLost     int // steps of the ledger that no checkpoint may hold after a crash, or 0 for any number
}

// orders are tested both ways: which file becomes durable first is not fixed.
var orders = map[string]func(a, b func() error) error{
	"the run first": inOrder,
	"its data first": func(a, b func() error) error {
		return inOrder(b, a)
	},
}

func inOrder(a, b func() error) error {
	if err := a(); err != nil {
		return err
	}
	return b()
}

var testRegistration = Registration{Path: "one", Data: Data{Name: "digits", Examples: 20, Shape: "2x2x1", Classes: 2}, Delta: 1e-5, Accountant: "rdp"}

func (r *crashRun) ledgerPath() string     { return filepath.Join(r.dir, "ledger.jsonl") }
func (r *crashRun) datasetsPath() string   { return filepath.Join(filepath.Dir(r.dir), "datasets.jsonl") }
func (r *crashRun) checkpointsDir() string { return filepath.Join(r.dir, "checkpoints") }

// isUnborn says whether a ledger is not there, or its process was stopped while it was created:
// nothing was released.
func isUnborn(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnfinished) }

// resume opens or creates the ledgers as a run does, and returns the step to go on from: everything
// is checked before anything is written.
func (r *crashRun) resume() (step int, err error) {
	r.journal, err = openJournal(r.files, r.ledgerPath())
	unborn := isUnborn(err)
	if err != nil && !unborn {
		return 0, err
	}
	id := ""
	if r.together != nil {
		if err := r.openDatasets(unborn); err != nil {
			return 0, err
		}
		id = r.datasets.Info().ID
	}
	if unborn {
		if _, err := r.files.Lstat(r.ledgerPath()); err == nil {
			if err := r.files.Remove(r.ledgerPath()); err != nil {
				return 0, err
			}
		}
		if r.journal, err = createJournal(r.files, r.ledgerPath(), id); err != nil {
			return 0, err
		}
	}
	if r.together == nil {
		r.acknowledged = r.journal.Len() // what was read counts from now on
	}
	s, _, err := latest(r.files, r.checkpointsDir())
	if err == nil {
		step, err = s.Step, r.journal.Check(s.Claim())
	} else if errors.Is(err, ErrNoCheckpoint) {
		err = nil
	}
	if err != nil || r.together == nil {
		return step, errors.Join(err, r.journal.Recover())
	}
	if m, ok := r.datasets.Info().Member(r.journal.Info().Run); ok {
		if err := r.journal.Check(m.Claim("datasets.jsonl")); err != nil {
			return 0, err
		}
	}
	if err := r.journal.Recover(); err != nil {
		return 0, err
	}
	if err := r.datasets.Register(r.journal, testRegistration); err != nil {
		return 0, err
	}
	r.acknowledged = r.journal.Len()
	return r.journal.Info().LastStep, nil
}

func (r *crashRun) openDatasets(unborn bool) (err error) {
	r.datasets, err = openDatasets(r.files, r.datasetsPath())
	if unborn && isUnborn(err) {
		r.datasets, err = createDatasets(r.files, r.datasetsPath())
	}
	if err == nil {
		r.datasets.together = r.together
	}
	return err
}

// train runs steps, saving after every one that is a multiple of saveEvery, if it is above 0.
func (r *crashRun) train(from, to, saveEvery int) error {
	for step := from + 1; step <= to; step++ {
		if err := r.journal.AppendWith(r.datasets, step, event(1.1)); err != nil {
			return err
		}
		r.acknowledged = r.journal.Len()
		if saveEvery == 0 || step%saveEvery != 0 {
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

// check looks at what a crash left on files, first as it lies there, and then as the run goes on
// with it, and holds it against what was acknowledged before.
func (r *crashRun) check(files fileSystem) error {
	if own, shared := r.counts(files); r.together != nil && min(own, shared) < r.acknowledged {
		return fmt.Errorf("found %d releases in the run's ledger and %d in that of its data, expected the %d that were made in both", own, shared, r.acknowledged)
	}
	after := crashRun{files: files, dir: r.dir, together: r.together}
	step, err := after.resume()
	defer after.close()
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
	if err := after.train(step, step+1, 0); err != nil {
		return fmt.Errorf("the resumed run cannot go on: %w", err)
	}
	if own, shared := r.counts(files); r.together != nil && (own != n+1 || shared != own) {
		return fmt.Errorf("found %d releases in the run's ledger and %d in that of its data, expected as many", own, shared)
	}
	return nil
}

func (r *crashRun) close() {
	if r.journal != nil {
		r.journal.Close()
	}
	if r.datasets != nil {
		r.datasets.Close()
	}
}

// counts reads how many releases each ledger holds.
func (r *crashRun) counts(files fileSystem) (own, shared int) {
	if r.together == nil {
		return 0, 0
	}
	var c chain
	if f, _, err := openRegular(files, r.ledgerPath()); err == nil {
		c.read(content(f), -1)
		f.Close()
	}
	var b book
	if f, _, err := openRegular(files, r.datasetsPath()); err == nil {
		b.read(content(f))
		f.Close()
	}
	for _, m := range b.order {
		shared += m.chain.entries
	}
	return c.entries, shared
}
