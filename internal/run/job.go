package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/release"
)

// Job is one kind of training, or of questions. A [Run] carries it out and keeps its folder.
type Job interface {
	// Identity holds what may not change between the parts of the run, in public values alone. The
	// folder keeps it, and checkpoints its hash; "" keeps nothing.
	Identity() string
	// Planned returns, as a ledger, all releases that the run sets out to make.
	Planned() (*accountant.Ledger, error)
	// Restore loads the run's newest checkpoint, checked against the ledger where there is one; s
	// is nil without a checkpoint. path names the checkpoint in errors. Restore writes no file.
	Restore(s *checkpoints.State, path string) error
	// Ready prepares for steps. From here on it may write into the run's folder.
	Ready() error
	// State returns what a checkpoint of the current step holds; nil if the job saves its steps
	// itself.
	State() *checkpoints.State
	// Start is called once, before the first step of this process.
	Start(ctx context.Context) error
	// More reports whether there is a next step, and Next takes it. If Next returns an error that
	// wraps [release.ErrBudget], the run ends as [BudgetExhausted], without an error.
	More() bool
	Next(ctx context.Context) error
	// Finish writes what the run leaves beside its checkpoints, after the last one is saved.
	Finish(Status) error
}

// Status says why a run ended.
type Status string

const (
	// Done: all planned steps ran.
	Done Status = "done"
	// BudgetExhausted: one more step would have passed the budget or, after steps that were lost,
	// the cost of the plan.
	BudgetExhausted Status = "budget_exhausted"
	// Interrupted: stopped from outside after a whole step; the run can be resumed.
	Interrupted Status = "interrupted"
	// Diverged: the trial of a sweep ended with ErrDiverged.
	Diverged Status = "diverged"
)

// Watcher is told how a run goes. It sees copies and changes nothing. Functions that are nil are
// not called.
type Watcher[Overview, Progress, Result any] struct {
	Started  func(Overview) // once, before the first step of this process
	Stepped  func(Progress) // after every step
	Finished func(Result)   // once, after everything is written
}

// Tell calls f with the news, unless f is nil.
func Tell[T any](f func(T), news T) {
	if f != nil {
		f(news)
	}
}

// ErrUntrained is wrapped by the error about a run that spent its budget without a saved step.
var ErrUntrained = errors.New("train: there is no trained model")

// ErrDiverged is wrapped by the error about a run whose parameters left the range of float32.
var ErrDiverged = errors.New("train: the training diverged")

// CarryOut takes the job's remaining steps, saves a checkpoint, and has the job write its results.
// When ctx is done, CarryOut takes no further step and ends as Interrupted, with all of that
// written.
func (r *Run) CarryOut(ctx context.Context) (err error) {
	defer func() {
		if errors.Is(err, checkpoints.ErrNotFinite) {
			err = fmt.Errorf("%w by step %d of %s, expected a smaller optimizer.learning_rate; what a private run released counts in the ledger: %w", ErrDiverged, r.Step, r.Dir, err)
		}
		err = r.Books.Told(err)
	}()
	r.Began, r.ctx, r.saved, r.tried = time.Now(), ctx, r.Step, r.Step
	if err := r.job.Start(ctx); err != nil {
		return r.rescue(err)
	}
	status, err := r.steps(ctx)
	if err != nil {
		return r.rescue(err)
	}
	// First what cannot be had again: whoever is in a hurry may stop the process while the test
	// examples are predicted.
	if err := r.Save(); err != nil {
		return err
	}
	return r.rescue(r.job.Finish(status))
}

// steps takes the remaining steps, and returns why it stopped.
func (r *Run) steps(ctx context.Context) (Status, error) {
	for r.job.More() {
		if ctx.Err() != nil {
			return Interrupted, nil
		}
		err := r.job.Next(ctx)
		switch {
		case errors.Is(err, release.ErrBudget):
			return BudgetExhausted, nil
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return Interrupted, nil
		case err != nil:
			return "", err
		}
	}
	return Done, nil
}

// Due does what the configuration says is due after this step of all steps: it calls evaluate, but
// not after the last one, and begins a checkpoint. evaluated reports whether it called evaluate.
func (r *Run) Due(step, steps int, evaluate func() error) (evaluated bool, err error) {
	every := func(n int) bool { return n > 0 && step%n == 0 }
	if evaluated = every(r.Config.Training.EvaluateEvery) && step < steps; evaluated {
		if err := evaluate(); err != nil {
			return true, err
		}
	}
	if every(r.Config.Run.CheckpointEvery) {
		err = r.beginSave()
	}
	return evaluated, err
}

// Untrained returns the error of a resumed run that has no step in a checkpoint and no budget for
// one. Such a run writes no model, which would be its initial weights.
func (r *Run) Untrained(epsilon, delta float64) error {
	return fmt.Errorf("%w: %s has no step in a checkpoint, and its ledger holds %d releases, after which not one more stays within ε = %g at δ = %g; expected room for a step. Start a new run; what was released still counts in the ledger of the data",
		ErrUntrained, r.Dir, r.Books.Len(), epsilon, delta)
}

// SideBySide calls work in width goroutines, or in one, and one of them is the caller's. Together
// they take the numbers in todo from next, until none is left. An error of one ends the context of
// all. SideBySide returns an error other than that of the context, if there is one.
func SideBySide(ctx context.Context, width int, todo []int, work func(ctx context.Context, next <-chan int) error) error {
	if len(todo) == 0 {
		return nil
	}
	next := make(chan int, len(todo))
	for _, i := range todo {
		next <- i
	}
	close(next)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, max(1, width))
	one := func(k int) {
		if errs[k] = work(ctx, next); errs[k] != nil {
			stop()
		}
	}
	var others sync.WaitGroup
	for k := range errs[1:] {
		others.Go(func() { one(k + 1) })
	}
	one(0)
	others.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, ctx.Err()) {
			return err
		}
	}
	return cmp.Or(errs...)
}
