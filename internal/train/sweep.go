package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/optimizer"
)

// Diverged is the status of a trial whose parameters left the range of float32. It happens at absurd learning rates
// only, because gradients are clipped; the trial counts as finished, without an accuracy.
const Diverged Status = "diverged"

// SweepOptions are what a sweep needs besides its file.
type SweepOptions struct {
	DataDir string // of named data sets; data.DefaultDir when empty
	RunsDir string // parent of the sweep's folder; "runs" when empty
	Watcher SweepWatcher
	Source  *data.Source // used instead of the configured data of every trial; nil reads it
}

// SweepWatcher is told how a sweep goes. Methods but SweepStarted and SweepFinished concern one trial.
type SweepWatcher interface {
	SweepStarted(SweepOverview)
	TrialStarted(TrialOverview)
	TrialStepped(Progress)
	Warned(message string)
	TrialFinished(Row)
	SweepFinished(SweepResult)
}

// SweepOverview is what a sweep is about.
type SweepOverview struct {
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

// SweepResult is what a sweep reports at its end.
type SweepResult struct {
	Sweep    string    `json:"sweep"`
	Status   Status    `json:"status"` // Done or Interrupted
	Trials   int       `json:"trials"`
	Finished int       `json:"finished"`
	Rows     []Row     `json:"rows"`
	Composed *Composed `json:"composed"` // nil when nothing was released
}

// sweep is one at work.
type sweep struct {
	dir     string
	trials  []configs.Trial
	options SweepOptions
	watcher SweepWatcher
	rows    map[string]Row // finished trials by name

	registry string          // the folder with the ledger of data sets
	started  map[string]bool // trials that have a ledger

	source     *data.Source // of the last trial
	sourceSpec string
}

// RunSweep trains every trial that has no result yet, one after the other, each as an ordinary run in the sweep's
// folder. A trial with a result is never repeated; one that was under way goes on from its checkpoint with the
// spend of its ledger. When ctx is done, the trial's current step is finished and saved, and the status is Interrupted.
func RunSweep(ctx context.Context, file *configs.Sweep, o SweepOptions) (SweepResult, error) {
	trials, err := file.Trials()
	if err != nil {
		return SweepResult{}, err
	}
	s := &sweep{registry: cmp.Or(o.RunsDir, "runs"), trials: trials, options: o, watcher: o.Watcher}
	s.dir = filepath.Join(s.registry, file.Name)
	if s.watcher == nil {
		s.watcher = silentSweep{}
	}
	steps, err := s.check()
	if err != nil {
		return SweepResult{}, err
	}
	lock, err := s.open()
	if err != nil {
		return SweepResult{}, err
	}
	defer lock.Close()
	s.announce(steps)
	status, err := s.run(ctx)
	if err != nil {
		return SweepResult{}, err
	}
	result, err := s.result(status)
	if err != nil {
		return SweepResult{}, err
	}
	s.watcher.SweepFinished(result)
	return result, nil
}

// check plans every trial before the first one runs, and returns their steps.
func (s *sweep) check() ([]int, error) {
	steps := make([]int, len(s.trials))
	for i, t := range s.trials {
		o, err := s.outline(t.Config)
		if err != nil {
			return nil, err
		}
		plan, err := NewPlan(t.Config, o.Examples)
		if err == nil {
			_, err = newModel(t.Config, o.Shape, o.Classes)
		}
		if err != nil {
			return nil, fmt.Errorf("trial %s: %w", t.Name, err)
		}
		steps[i] = plan.Steps
	}
	return steps, nil
}

func (s *sweep) outline(c *configs.Config) (Outline, error) {
	if s.options.Source != nil {
		return outlineOf(s.options.Source), nil
	}
	return outline(c, 0)
}

func (s *sweep) announce(steps []int) {
	left := 0
	for i, t := range s.trials {
		if _, finished := s.rows[t.Name]; !finished {
			left += steps[i]
		}
	}
	s.watcher.SweepStarted(SweepOverview{Dir: s.dir, Trials: len(s.trials), Finished: len(s.rows), Steps: left})
}

// run trains the trials that are missing. Each result is on disk before the next trial starts.
func (s *sweep) run(ctx context.Context) (Status, error) {
	for i, t := range s.trials {
		if _, finished := s.rows[t.Name]; finished {
			continue
		}
		if ctx.Err() != nil {
			return Interrupted, nil
		}
		row, err := s.trial(ctx, i, t)
		if err != nil {
			return "", fmt.Errorf("trial %s: %w", t.Name, err)
		}
		if row.Status == Interrupted {
			return Interrupted, nil
		}
		s.rows[t.Name] = row
		if err := s.writeRows(); err != nil {
			return "", err
		}
		s.watcher.TrialFinished(row)
	}
	return Done, nil
}

// trial trains one, from the beginning or from where it was stopped.
func (s *sweep) trial(ctx context.Context, i int, t configs.Trial) (Row, error) {
	source, err := s.data(t.Config)
	if err != nil {
		return Row{}, err
	}
	o := Options{RunsDir: s.dir, Folder: t.Name, Registry: s.registry, Source: source, Watcher: trialWatcher{s.watcher, TrialOverview{Number: i + 1, Trials: len(s.trials), Name: t.Name}}}
	run, err := s.openTrial(t, o)
	if err != nil {
		return Row{}, err
	}
	defer run.Close()
	result, err := run.Fit(ctx)
	if errors.Is(err, optimizer.ErrUpdate) || errors.Is(err, checkpoints.ErrNotFinite) {
		return run.diverged(t)
	}
	return rowOf(t, result, run.journal), err
}

// diverged is the row of a run that had to stop.
func (r *Run) diverged(t configs.Trial) (Row, error) {
	spent, err := r.plan.Spent(r.journal.Ledger())
	return rowOf(t, Result{
		Status: Diverged, Steps: r.step, Epsilon: spent.Epsilon, EpsilonRDP: spent.EpsilonRDP, Delta: spent.Delta, TestAccuracy: math.NaN(), Seconds: r.seconds(),
	}, r.journal), err
}

// openTrial goes on with a trial that was started, or starts it.
func (s *sweep) openTrial(t configs.Trial, o Options) (*Run, error) {
	dir := filepath.Join(s.dir, t.Name)
	if s.started[t.Name] {
		return Open(dir, o)
	}
	// What a killed process left before its run had a ledger. Nothing was released from it.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("train: cannot start a trial anew: %w", err)
	}
	return Create(t.Config, o)
}

// data is the source of a configuration; trials with the same data share it.
func (s *sweep) data(c *configs.Config) (*data.Source, error) {
	if s.options.Source != nil {
		return s.options.Source, nil
	}
	spec := fmt.Sprintf("%#v", dataSpec(c, s.options.DataDir))
	if s.source != nil && s.sourceSpec == spec {
		return s.source, nil
	}
	s.source = nil // let go of one set before reading another
	source, err := loadData(c, s.options.DataDir)
	s.source, s.sourceSpec = source, spec
	return source, err
}

// result gathers the rows in the order of the trials and composes what all of them spent.
func (s *sweep) result(status Status) (SweepResult, error) {
	composed, err := s.compose()
	if err != nil {
		return SweepResult{}, err
	}
	r := SweepResult{
		Sweep: s.dir, Status: status, Trials: len(s.trials), Finished: len(s.rows), Rows: s.finishedRows(), Composed: composed,
	}
	return r, s.writeReport(r)
}

// trialWatcher tells the watcher of a sweep about one of its runs.
type trialWatcher struct {
	watcher  SweepWatcher
	overview TrialOverview
}

func (w trialWatcher) Started(o Overview) {
	w.overview.ResumedAt, w.overview.Steps = o.ResumedAt, o.Plan.Steps
	w.watcher.TrialStarted(w.overview)
}
func (w trialWatcher) Stepped(p Progress)    { w.watcher.TrialStepped(p) }
func (w trialWatcher) Warned(message string) { w.watcher.Warned(w.overview.Name + ": " + message) }
func (w trialWatcher) Finished(Result)       {}

// silentSweep is the SweepWatcher of nobody.
type silentSweep struct{}

func (silentSweep) SweepStarted(SweepOverview) {}
func (silentSweep) TrialStarted(TrialOverview) {}
func (silentSweep) TrialStepped(Progress)      {}
func (silentSweep) Warned(string)              {}
func (silentSweep) TrialFinished(Row)          {}
func (silentSweep) SweepFinished(SweepResult)  {}
