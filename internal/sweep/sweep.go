// Package sweep trains the trials of a sweep, each as an ordinary run in the sweep's folder, and
// accounts for all of them together.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/memory"
	"dpsgd/internal/setup"
	"dpsgd/internal/train"
	"dpsgd/optimizer"
)

// Options are what a sweep needs besides its file.
type Options struct {
	DataDir string // of named data sets; data.DefaultDir when empty
	RunsDir string // parent of the sweep's folder; "runs" when empty
	Watcher Watcher
	Waits   func(message string) // see train.Options
	Source  *data.Split          // used instead of the configured data of every trial; nil reads it
}

// Watcher is told how a sweep goes. Methods but SweepStarted and SweepFinished concern one trial.
type Watcher interface {
	SweepStarted(Overview)
	TrialStarted(TrialOverview)
	TrialStepped(train.Progress)
	Warned(message string)
	TrialFinished(Row)
	SweepFinished(Result)
}

// Overview is what a sweep is about.
type Overview struct {
	Dir      string
	Trials   int
	Finished int // trials with a result from earlier
	Steps    int // planned, of the trials that are left
}

// TrialOverview is what a trial is about.
type TrialOverview struct {
	Number, Trials int // Number counts from 1
	Name           string
	ResumedAt      int // steps that are there already
	Steps          int
}

// Result is what a sweep reports at its end.
type Result struct {
	Sweep    string       `json:"sweep"`
	Status   train.Status `json:"status"` // train.Done or train.Interrupted
	Trials   int          `json:"trials"`
	Finished int          `json:"finished"`
	Rows     []Row        `json:"rows"`
	Composed *Composed    `json:"composed"` // nil when nothing was released
}

// sweep is one at work.
type sweep struct {
	dir     string
	trials  []configs.Trial
	options Options
	watcher Watcher
	rows    map[string]Row // finished trials by name

	registry string          // the folder with the ledger of data sets
	started  map[string]bool // trials that have a ledger

	source     *data.Split // of the last trial
	sourceSpec string
}

// Run trains every trial that has no result yet, one after the other, each as an ordinary run in
// the sweep's folder. A trial with a result is never repeated; one that was under way goes on from
// its checkpoint with the spend of its ledger. When ctx is done, the trial's current step is
// finished and saved, and the status is [train.Interrupted].
func Run(ctx context.Context, file *configs.Sweep, o Options) (Result, error) {
	trials, err := file.Trials()
	if err != nil {
		return Result{}, err
	}
	s := &sweep{registry: cmp.Or(o.RunsDir, "runs"), trials: trials, options: o, watcher: o.Watcher}
	s.dir = filepath.Join(s.registry, file.Name)
	if s.watcher == nil {
		s.watcher = silent{}
	}
	steps, err := s.check()
	if err != nil {
		return Result{}, err
	}
	lock, err := s.open()
	if err != nil {
		return Result{}, err
	}
	defer lock.Close()
	s.announce(steps)
	status, err := s.run(ctx)
	if err != nil {
		return Result{}, err
	}
	result, err := s.result(status)
	if err != nil {
		return Result{}, err
	}
	s.watcher.SweepFinished(result)
	return result, nil
}

// check plans every trial before the first one runs, and returns their steps.
func (s *sweep) check() ([]int, error) {
	steps := make([]int, len(s.trials))
	outlines := map[string]setup.Outline{} // counting goes through all of a data set: once for each
	for i, t := range s.trials {
		o, err := s.outline(t.Config, outlines)
		if err != nil {
			return nil, err
		}
		err = memory.Check(t.Config, o)
		var plan *train.RunPlan
		if err == nil {
			plan, err = train.NewPlan(t.Config, o.Examples)
		}
		if err == nil {
			_, err = setup.Sketch(t.Config, o.Shape, o.Classes)
		}
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", t.Name, err)
		}
		steps[i] = plan.Steps
	}
	return steps, nil
}

func (s *sweep) outline(c *configs.Config, known map[string]setup.Outline) (setup.Outline, error) {
	if s.options.Source != nil {
		return setup.OutlineOfSource(s.options.Source), nil
	}
	spec := s.spec(c)
	if o, ok := known[spec]; ok {
		return o, nil
	}
	o, err := setup.OutlineOf(c, 0)
	if err == nil {
		known[spec] = o
	}
	return o, err
}

// spec is equal for trials with the same data.
func (s *sweep) spec(c *configs.Config) string {
	return fmt.Sprintf("%#v", setup.Spec(c, s.options.DataDir))
}

func (s *sweep) announce(steps []int) {
	left := 0
	for i, t := range s.trials {
		if _, finished := s.rows[t.Name]; !finished {
			left += steps[i]
		}
	}
	s.watcher.SweepStarted(Overview{Dir: s.dir, Trials: len(s.trials), Finished: len(s.rows), Steps: left})
}

// run trains the trials that are missing. Each result is on disk before the next trial starts.
func (s *sweep) run(ctx context.Context) (train.Status, error) {
	for i, t := range s.trials {
		if _, finished := s.rows[t.Name]; finished {
			continue
		}
		if ctx.Err() != nil {
			return train.Interrupted, nil
		}
		row, err := s.trial(ctx, i, t)
		if err != nil {
			return "", fmt.Errorf("trial %s: %w", t.Name, err)
		}
		if row.Status == train.Interrupted {
			return train.Interrupted, nil
		}
		s.rows[t.Name] = row
		if err := s.writeRows(); err != nil {
			return "", err
		}
		s.watcher.TrialFinished(row)
	}
	return train.Done, nil
}

// trial trains one, from the beginning or from where it was stopped.
func (s *sweep) trial(ctx context.Context, i int, t configs.Trial) (Row, error) {
	source, err := s.data(t.Config)
	if err != nil {
		return Row{}, err
	}
	o := train.Options{RunsDir: s.dir, Folder: t.Name, Registry: s.registry, Source: source, Waits: s.options.Waits, Watcher: trialWatcher{s.watcher, TrialOverview{Number: i + 1, Trials: len(s.trials), Name: t.Name}}}
	run, err := s.openTrial(t, o)
	if err != nil {
		return Row{}, err
	}
	defer run.Close()
	result, err := run.Fit(ctx)
	switch {
	case errors.Is(err, optimizer.ErrUpdate), errors.Is(err, checkpoints.ErrNotFinite):
		result, err = run.Untested(train.Diverged)
	case errors.Is(err, train.ErrUntrained):
		result, err = run.Untested(train.BudgetExhausted)
	}
	return rowOf(t, result), err
}

// openTrial goes on with a trial that was started, or starts it.
func (s *sweep) openTrial(t configs.Trial, o train.Options) (*train.Run, error) {
	dir := filepath.Join(s.dir, t.Name)
	if s.started[t.Name] {
		return train.Open(dir, o)
	}
	// What a killed process left before its run had a ledger. Nothing was released from it.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("train: cannot start a trial anew: %w", err)
	}
	return train.Create(t.Config, o)
}

// data is the source of a configuration; trials with the same data share it.
func (s *sweep) data(c *configs.Config) (*data.Split, error) {
	if s.options.Source != nil {
		return s.options.Source, nil
	}
	spec := s.spec(c)
	if s.source != nil && s.sourceSpec == spec {
		return s.source, nil
	}
	s.source = nil // let go of one set before reading another
	source, err := setup.Data(c, s.options.DataDir)
	if err == nil && source.Warning != "" {
		s.watcher.Warned(source.Warning)
	}
	s.source, s.sourceSpec = source, spec
	return source, err
}

// result gathers the rows in the order of the trials and composes what all of them spent.
func (s *sweep) result(status train.Status) (Result, error) {
	composed, err := s.compose()
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Sweep: s.dir, Status: status, Trials: len(s.trials), Finished: len(s.rows), Rows: s.finishedRows(), Composed: composed,
	}
	return r, s.writeReport(r)
}

// trialWatcher tells the watcher of a sweep about one of its runs.
type trialWatcher struct {
	watcher  Watcher
	overview TrialOverview
}

func (w trialWatcher) Started(o train.Overview) {
	w.overview.ResumedAt, w.overview.Steps = o.ResumedAt, o.Plan.Steps
	w.watcher.TrialStarted(w.overview)
}
func (w trialWatcher) Stepped(p train.Progress) { w.watcher.TrialStepped(p) }
func (w trialWatcher) Warned(message string)    { w.watcher.Warned(w.overview.Name + ": " + message) }
func (w trialWatcher) Finished(train.Result)    {}

// silent is the Watcher of nobody.
type silent struct{}

func (silent) SweepStarted(Overview)       {}
func (silent) TrialStarted(TrialOverview)  {}
func (silent) TrialStepped(train.Progress) {}
func (silent) Warned(string)               {}
func (silent) TrialFinished(Row)           {}
func (silent) SweepFinished(Result)        {}
