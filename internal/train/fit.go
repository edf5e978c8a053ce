package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"dpsgd/internal/account"
	"dpsgd/internal/compute"
	"dpsgd/internal/folder"
	"dpsgd/internal/score"
	"dpsgd/internal/trained"
	"dpsgd/release"
)

// Fit carries out the plan from the current step and writes everything a run leaves behind. When
// ctx is done it finishes the current step, saves, and returns with status Interrupted.
func (r *Run) Fit(ctx context.Context) (result Result, err error) {
	defer func() { err = r.journal.Told(err) }()
	r.started, r.ctx, r.saved, r.tried = time.Now(), ctx, r.step, r.step
	r.watcher.Started(r.overview())
	r.warn()
	status := Done
	if r.step == 0 && r.plan.MaxSteps == 0 {
		return Result{}, r.untrained() // nothing is spent on what no step would use
	}
	if ctx.Err() != nil && r.featureMean == nil {
		return r.finish(Interrupted) // before anything was paid for
	}
	if err := r.trust(); err != nil {
		return Result{}, err
	}
	if err := r.centre(); errors.Is(err, release.ErrBudget) {
		return Result{}, r.untrained()
	} else if err != nil {
		return Result{}, err
	}
	for r.step < r.plan.Steps {
		if ctx.Err() != nil {
			status = Interrupted
			break
		}
		err := r.takeStep()
		if errors.Is(err, release.ErrBudget) {
			status = BudgetExhausted
			break
		}
		if err == nil {
			err = r.due()
		}
		if err != nil {
			return Result{}, r.rescue(err)
		}
	}
	if status == BudgetExhausted && r.step == 0 {
		return Result{}, r.untrained()
	}
	return r.finish(status)
}

// untrained is the error of a run that is gone on with, that has no step and may make none. Nothing
// is written: a model would be its initial weights.
func (r *Run) untrained() error {
	return fmt.Errorf("%w: %s has no step in a checkpoint, and its ledger holds %d releases, after which not one more stays within ε = %g at δ = %g; expected room for a step. Start a new run; what was released still counts in the ledger of the data",
		ErrUntrained, r.Dir, r.journal.Len(), r.plan.Budget.Epsilon, r.plan.Delta)
}

// takeStep is one step of DP-SGD (Abadi et al., arXiv:1607.00133, Algorithm 1).
func (r *Run) takeStep() error {
	start := time.Now()
	rate := r.schedule.LearningRate(r.step)
	r.plan.begin(r.step)
	if err := r.update.Apply(r.model.Values, r.release, r.plan.divisor(), rate); err != nil {
		return err
	}
	r.followNorms()
	r.step++
	r.mean.Add(r.model.Values, r.step)
	r.stepped++
	took := time.Since(start)
	r.stepTime += took
	return r.diagnose(took)
}

// release hands out the noisy sum of the step's batch.
func (r *Run) release(consume func(release.Noisy)) error {
	if r.counting() != nil {
		consume = compute.SplitCount(len(r.model.Values), &r.count, consume)
	}
	return r.door.Release(r.step, r.records.AtStep(r.step), consume)
}

// due does what is due after a step at its cadence: evaluation, checkpoint, report.
func (r *Run) due() error {
	every := func(n int) bool { return n > 0 && r.step%n == 0 }
	evaluated := every(r.config.Training.EvaluateEvery) && r.step < r.plan.Steps
	if evaluated {
		if err := r.evaluate(); err != nil {
			return err
		}
	}
	if every(r.config.Run.CheckpointEvery) {
		if err := r.beginSave(); err != nil {
			return err
		}
	}
	spent, err := r.meter.read(r)
	if err != nil {
		return err
	}
	p := r.progress(spent)
	p.Evaluated = evaluated
	r.warn()
	r.watcher.Stepped(p)
	return nil
}

// finish saves the last parameters, evaluates them, and writes model and statement.
func (r *Run) finish(status Status) (Result, error) {
	// First what cannot be had again: whoever is in a hurry may stop the process while the test
	// pictures are predicted.
	if err := r.save(); err != nil {
		return Result{}, err
	}
	if err := r.dismiss(); err != nil {
		return Result{}, err
	}
	if err := r.evaluate(); err != nil {
		return Result{}, r.rescue(err)
	}
	claim, err := r.plan.claim(r.journal.Ledger(), r.journal.Planned())
	if err != nil {
		return Result{}, err
	}
	r.warn()
	p := r.progress(claim.Spent)
	result := Result{
		Status: status, Steps: r.step,
		Answer: claim.Answer(), Released: claim.Released,
		NoiseMultiplier: r.plan.NoiseMultiplier(), TestAccuracy: r.evaluation.Accuracy, ByClass: r.byClass.ByClass(), Average: r.config.Training.Average.Name(),
		Seconds: p.Seconds, ExamplesPerSecond: p.ExamplesPerSecond, Run: r.Dir, TargetEpsilon: r.config.Privacy.Epsilon,
		LedgerEntries: r.journal.Len(), LedgerHead: r.journal.Hash(),
	}
	if result.Together, err = r.journal.Together(); err != nil {
		return Result{}, err
	}
	if err := r.mean.InPlaceOf(r.model.Values, r.writeModel); err != nil {
		return Result{}, err
	}
	statement := r.statement(status, claim, result.Together)
	if statement.ModelSHA256, err = trained.Sum(r.Dir); err != nil {
		return Result{}, err
	}
	if err := r.persist(saving{"the privacy statement", folder.Statement, 1 << 16, statement.Write, false}); err != nil {
		return Result{}, err
	}
	r.watcher.Finished(result)
	return result, nil
}

// Untested is the result of a run that had to stop and has no model to test: with status Diverged
// because its parameters left the range of float32, with BudgetExhausted before its first step.
func (r *Run) Untested(status Status) (Result, error) {
	claim, err := r.plan.claim(r.journal.Ledger(), r.journal.Planned())
	return Result{
		Status: status, Steps: r.step, Answer: claim.Answer(), Released: claim.Released, TestAccuracy: math.NaN(),
		Seconds: r.seconds(), LedgerEntries: r.journal.Len(), LedgerHead: r.journal.Hash(),
	}, err
}

// evaluate measures the current parameters, or their mean, on the test pictures and appends a line
// to the metrics.
func (r *Run) evaluate() error {
	if err := r.mean.InPlaceOf(r.model.Values, func() (err error) {
		r.byClass = score.New(r.source.Names)
		r.evaluation, err = r.evaluator.Count(r.byClass)
		return err
	}); err != nil {
		return err
	}
	spent, err := r.plan.Spent(r.journal.Ledger())
	if err != nil {
		return err
	}
	return r.writeMetrics(r.progress(spent))
}

// warn tells about fallbacks of the accountant that are new.
func (r *Run) warn() {
	for ; r.warned < len(r.plan.Fallbacks); r.warned++ {
		r.watcher.Warned(r.plan.Fallbacks[r.warned].String())
	}
}

// progress is the state of the run as a watcher may see it.
func (r *Run) progress(spent account.Spent) Progress {
	p := Progress{
		Step: r.step, Steps: r.plan.Steps, Spent: spent, Budget: r.plan.Budget,
		Evaluation: r.evaluation, LearningRate: r.schedule.LearningRate(max(0, r.step-1)), ClipNorm: r.plan.movingClipNorm(r.step), Seconds: r.seconds(),
	}
	if r.stepTime > 0 {
		p.SecondsPerStep = r.stepTime.Seconds() / float64(r.stepped)
		p.ExamplesPerSecond = r.plan.ExpectedBatchSize / p.SecondsPerStep
	}
	return p
}

// seconds is the time of this part of the run. That of earlier parts is not kept: how long steps
// take is not private.
func (r *Run) seconds() float64 { return time.Since(r.started).Seconds() }
