package train

import (
	"context"
	"errors"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/account"
	"dpsgd/internal/gradients"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/trained"
	"dpsgd/release"
)

// Fit carries out the plan from the current step and writes everything a run leaves behind. When
// ctx is done it finishes the current step, saves, and returns with status Interrupted.
func (r *Run) Fit(ctx context.Context) (Result, error) {
	if err := r.CarryOut(ctx); err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// Start saves the number of ranks, if it grew, releases the mean of features, if there is one, and
// subtracts it.
func (r *Run) Start(ctx context.Context) error {
	run.Tell(r.watcher.Started, r.overview())
	r.warn()
	if r.Step == 0 && r.plan.MaxSteps == 0 {
		return r.untrained() // nothing is spent on what no step would use
	}
	if ctx.Err() != nil && r.features.mean == nil {
		return nil // before anything was paid for
	}
	if err := r.trust(); err != nil {
		return err
	}
	err := r.centre()
	if errors.Is(err, release.ErrBudget) {
		return r.untrained()
	}
	return err
}

// untrained returns the error of a run whose budget allows no first step.
func (r *Run) untrained() error { return r.Untrained(r.plan.certified.cost.Epsilon, r.plan.Delta) }

// More reports whether the plan has a step that the run has not taken.
func (r *Run) More() bool { return r.Step < r.plan.Steps }

// Next takes a step, evaluates and saves if due, and tells the watcher.
func (r *Run) Next(context.Context) error {
	err := r.takeStep()
	if errors.Is(err, release.ErrBudget) && r.Step == 0 {
		return r.untrained()
	}
	if err != nil {
		return err
	}
	evaluated, err := r.Due(r.Step, r.plan.Steps, r.evaluate)
	if err != nil {
		return err
	}
	spent, err := r.meter.read(r)
	if err != nil {
		return err
	}
	p := r.progress(spent)
	p.Evaluated = evaluated
	r.warn()
	run.Tell(r.watcher.Stepped, p)
	return nil
}

// takeStep takes one step of DP-SGD (Abadi et al., arXiv:1607.00133, Algorithm 1).
func (r *Run) takeStep() error {
	start := time.Now()
	rate := r.Schedule.LearningRate(r.Step)
	r.plan.begin(r.Step)
	if err := r.update.Apply(r.Model.Values, r.release, r.plan.ExpectedBatchSize/r.plan.unit(), rate); err != nil {
		return err
	}
	if counting := r.counting(); counting != nil {
		counting.Learn(r.count, r.plan.ExpectedBatchSize)
	}
	r.Step++
	r.Mean.Add(r.Model.Values, r.Step)
	took := time.Since(start)
	r.Took(took)
	return r.diagnose(took)
}

// release releases the noisy sum of the step's batch through the door, and gives it to consume.
func (r *Run) release(consume func(release.Noisy)) error {
	if r.counting() != nil {
		consume = gradients.SplitCount(len(r.Model.Values), &r.count, consume)
	}
	return r.door.Release(r.Step, r.records.AtStep(r.Step), consume)
}

// Finish lets the other ranks go, evaluates the model, and writes model and privacy statement.
func (r *Run) Finish(status run.Status) error {
	if r.together.leader != nil {
		if err := r.together.leader.Dismiss(); err != nil {
			return err
		}
	}
	if err := r.evaluate(); err != nil {
		return err
	}
	claim, err := r.plan.claim(r.Books.Ledger(), r.Books.Planned())
	if err != nil {
		return err
	}
	r.warn()
	result := r.untested(status, claim)
	result.NoiseMultiplier, result.TargetEpsilon, result.Run = r.plan.NoiseMultiplier(), r.Config.Privacy.Epsilon, r.Dir
	result.Test, result.ByClass, result.Average = r.Evaluation.Test, r.ByClass, r.Config.Training.Average.Name()
	result.ExamplesPerSecond = r.PerSecond(r.plan.ExpectedBatchSize)
	if result.Together, err = r.Books.Together(); err != nil {
		return err
	}
	var beside []checkpoints.Tensor
	if mean := r.features.mean; mean != nil {
		beside = append(beside, checkpoints.Tensor{Name: trained.MeanOfFeatures, Shape: []int{len(mean)}, Data: mean})
	}
	if err := r.Write(nil, beside...); err != nil {
		return err
	}
	if err := r.Publish(r.statement(status, claim, result.Together)); err != nil {
		return err
	}
	r.result = result
	run.Tell(r.watcher.Finished, result)
	return nil
}

// Untested returns the result of a run that had to stop and has no model to test: with status
// Diverged, or with BudgetExhausted before its first step.
func (r *Run) Untested(status run.Status) (Result, error) {
	claim, err := r.plan.claim(r.Books.Ledger(), r.Books.Planned())
	return r.untested(status, claim), err
}

// untested returns a result without the numbers of a tested model.
func (r *Run) untested(status run.Status, claim account.Claim) Result {
	return Result{
		Test: score.Untested(), Status: status, Steps: r.Step, Answer: claim.Answer(), Released: claim.Released,
		Seconds: r.Seconds(), LedgerEntries: r.Books.Len(), LedgerHead: r.Books.Hash(),
	}
}

// evaluate measures the current parameters, or their mean, on the test examples.
func (r *Run) evaluate() error {
	return r.Measure(func() (run.Metrics, error) {
		spent, err := r.plan.Spent(r.Books.Ledger())
		p := r.progress(spent)
		return run.Metrics{Answer: spent.Answer(), LearningRate: p.LearningRate, ClipNorm: p.ClipNorm}, err
	})
}

// warn tells the watcher of fallbacks of the accountant that it has not been told of.
func (r *Run) warn() {
	for ; r.warned < len(r.plan.Fallbacks); r.warned++ {
		r.Warn(r.plan.Fallbacks[r.warned].String())
	}
}

// progress returns the state of the run that the watcher is shown.
func (r *Run) progress(spent account.Spent) Progress {
	return Progress{
		Step: r.Step, Steps: r.plan.Steps, Spent: spent, Budget: r.plan.Budget,
		Evaluation: r.Evaluation, LearningRate: r.Schedule.LearningRate(max(0, r.Step-1)), ClipNorm: r.plan.movingClipNorm(r.Step),
		Seconds: r.Seconds(), SecondsPerStep: r.PerStep(), ExamplesPerSecond: r.PerSecond(r.plan.ExpectedBatchSize),
	}
}
