package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/disk"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
)

// train trains the trials without a result, several at a time if so asked. The result of each is on
// disk before another trial begins in its stead.
//
// Small trials keep a machine busier side by side, each on its share of the threads, than one after
// the other on all: between the kernels of a step there is work that one thread does alone.
func (s *sweep) train(ctx context.Context) (run.Status, error) {
	var left []int
	for i := range s.trials {
		if !s.done(i) {
			left = append(left, i)
		}
	}
	s.width = max(1, min(cmp.Or(s.options.Jobs, s.file.Parallel), len(left)))
	err := run.SideBySide(ctx, s.width, left, s.work)
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
		return run.Interrupted, nil
	case err != nil:
		return "", err
	}
	return run.Done, nil
}

// work trains one trial after the other, of the indices in next, until none is left. If ctx ends
// before, it returns the error of ctx.
func (s *sweep) work(ctx context.Context, next <-chan int) error {
	for i := range next {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row, err := s.trial(ctx, i, s.trials[i])
		if err == nil && row.Status == string(run.Interrupted) {
			return ctx.Err()
		}
		if err == nil {
			err = s.keep(row)
		}
		if err != nil {
			return fmt.Errorf("trial %s: %w", s.trials[i].Name, err)
		}
	}
	return nil
}

// done reports whether a trial has a result, or is not for this process.
func (s *sweep) done(i int) bool {
	_, finished := s.rows[s.trials[i].Name]
	return finished || !s.ours(i)
}

func (s *sweep) keep(row books.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[row.Trial] = row
	write := s.writeRows
	if s.numbers != nil {
		write = func() error { return s.writeOwnRow(row) }
	}
	if err := write(); err != nil {
		return err
	}
	run.Tell(s.options.Watcher.TrialFinished, row)
	return nil
}

// trial trains one trial, from the beginning or from where it was stopped.
func (s *sweep) trial(ctx context.Context, i int, t configs.Trial) (books.Row, error) {
	lock, err := checkpoints.TakeLock(filepath.Join(s.dir, t.Name+lockEnd))
	if err != nil {
		return books.Row{}, err
	}
	defer lock.Remove()
	ledger, err := s.ledgerOf(t)
	if err != nil {
		return books.Row{}, err
	}
	if row, ok, err := s.trained(i, ledger); err != nil {
		return row, err
	} else if ok {
		s.tell(func() {
			run.Tell(s.options.Watcher.TrialStarted, TrialOverview{Number: i + 1, Trials: len(s.trials), Name: t.Name, ResumedAt: row.Steps, Steps: s.plans[i].steps})
		})
		return row, nil
	}
	trial, err := s.beginTrial(i, t, ledger != nil)
	if err != nil {
		return books.Row{}, err
	}
	defer trial.Close()
	result, err := trial.Fit(ctx)
	switch {
	case errors.Is(err, run.ErrDiverged):
		result, err = trial.Untested(run.Diverged)
	case errors.Is(err, run.ErrUntrained):
		result, err = trial.Untested(run.BudgetExhausted)
	}
	return rowOf(t, s.plans[i], result), err
}

// ledgerOf reads what the ledgers say of a trial; nil if it was not started.
func (s *sweep) ledgerOf(t configs.Trial) (*checkpoints.Member, error) {
	info, err := books.ReadDatasets(s.registry)
	if err != nil {
		return nil, err
	}
	return books.InspectTrial(filepath.Join(s.dir, t.Name), info)
}

// trained returns the result of a trial if somebody else has trained it since this process read the
// results. To train it again would release more, also if it ended by mishap, such as divergence.
func (s *sweep) trained(i int, ledger *checkpoints.Member) (row books.Row, ok bool, err error) {
	rows := map[string]books.Row{}
	if s.numbers != nil { // else the table is this process's own
		if rows, err = s.readRows(); err != nil {
			return row, false, err
		}
	}
	err = s.takeOwnRow(rows, i)
	row, ok = rows[s.trials[i].Name]
	return row, ok && holdsFor(row, ledger), err
}

// beginTrial prepares a trial, one at a time: trials share their data and its features, which the
// first of them computes, and whoever opens a ledger looks into the ledgers of all other runs,
// which nobody else can open meanwhile.
func (s *sweep) beginTrial(i int, t configs.Trial, started bool) (*train.Run, error) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	source, err := s.data(t.Config)
	if err != nil {
		return nil, err
	}
	o := train.Options{Options: run.Options{Request: setup.Request{Given: source}, RunsDir: s.dir, Folder: t.Name, Registry: s.registry, Apart: s.numbers != nil, Waits: s.options.Waits}}
	o.Warned = func(message string) { s.tell(func() { run.Tell(s.options.Warned, t.Name+": "+message) }) }
	o.Watcher = s.watching(TrialOverview{Number: i + 1, Trials: len(s.trials), Name: t.Name})
	if s.width > 1 {
		o.Threads = max(1, setup.Threads(t.Config)/s.width)
	}
	return s.openTrial(t, o, started)
}

// openTrial goes on with a trial that was started, or starts it.
func (s *sweep) openTrial(t configs.Trial, o train.Options, started bool) (*train.Run, error) {
	dir := filepath.Join(s.dir, t.Name)
	if started {
		return train.Open(dir, o)
	}
	// What a killed process left before its run had a ledger. Nothing was released from it.
	if err := disk.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("train: cannot start a trial anew: %w", err)
	}
	return train.Create(t.Config, o)
}

// data returns the data of a configuration; trials with the same data share it, unless each sees
// examples of its own.
func (s *sweep) data(c *configs.Config) (*data.Split, error) {
	switch {
	case s.options.Given != nil && s.options.Sees != nil:
		return s.options.Sees(c), nil
	case s.options.Given != nil:
		return s.options.Given, nil
	}
	spec := s.spec(c)
	if s.source != nil && s.sourceSpec == spec {
		return s.source, nil
	}
	s.source = nil // let go of one set before reading another
	source, err := s.options.Read(c)
	if err == nil {
		err = source.Check(func(int, int) {})
	}
	if err != nil {
		return nil, err
	}
	if source.Warning != "" {
		s.tell(func() { run.Tell(s.options.Warned, source.Warning) })
	}
	s.source, s.sourceSpec = source, spec
	return source, nil
}

// tell calls call, which tells the watcher something. No two such calls run at a time.
func (s *sweep) tell(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call()
}

// watching returns a watcher of one trial, which tells the watcher of the sweep.
func (s *sweep) watching(trial TrialOverview) train.Watcher {
	to := s.options.Watcher
	return train.Watcher{
		Started: func(o train.Overview) {
			trial.ResumedAt, trial.Steps = o.ResumedAt, o.Plan.Steps
			s.tell(func() { run.Tell(to.TrialStarted, trial) })
		},
		Stepped: func(p train.Progress) {
			if to.TrialStepped != nil {
				s.tell(func() { to.TrialStepped(trial, p) })
			}
		},
	}
}
