package pate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/release/answer"
)

// ErrUnanswered is matched by the error of a run that asked its questions and got no answer.
var ErrUnanswered = errors.New("train: no question was answered")

// Options are what a run needs besides its configuration. None of them changes what is computed.
type Options struct {
	run.Options
	// Started and Progress watch; nil watches nothing.
	Started  func(*Run)
	Progress func(Progress)
}

// Progress says how far a run is.
type Progress struct {
	Stage       string // teachers, questions or student
	Done, Total int    // numbers of teachers, of questions or of rounds of the student
	Answered    int
	Spent       account.Spent // of the ledger; zero among teachers
	// Dependent is the data-dependent ε so far, NOT PRIVATE; if Released is true, it is the bound
	// that was released.
	Dependent float64
	Released  bool
	Accuracy  float64 // of the student
}

// Run is the [run.Job] that trains teachers, asks questions and trains a student. Close releases
// it.
type Run struct {
	*run.Run
	Plan   *Plan
	Result Result // once it was carried out

	options    Options
	pool, rest data.Set  // of the test examples
	drawn      bool      // whether the seed drew the pool
	mean       []float32 // of the pool, subtracted from features; nil without features
	graph      *graph    // of the pool
	parts      [][]int   // of the training examples, one for each teacher
	desk       *answer.Desk

	mu         sync.Mutex
	dealt      string    // PRIVATE: a hash of the training examples in their order
	ballots    []*ballot // PRIVATE; nil where a teacher is not trained yet
	answers    answers
	dependent  *votes.Account // PRIVATE; nil before all teachers are trained
	student    *network
	evaluation gradients.Evaluation
	learnt     bool // whether the student is trained
}

// Create prepares a new run, and makes its folder once everything else has worked.
func Create(c *configs.Config, o Options) (*Run, error) {
	return run.Create(c, o.Options, func(base *run.Run) (*Run, error) { return build(base, o) })
}

// Open prepares a run that was started before to go on.
func Open(dir string, o Options) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	return run.Open(dir, c, o.Options, func(base *run.Run) (*Run, error) { return build(base, o) })
}

// build returns a run on base: it fixes the plan, deals the examples to the teachers, and computes
// what the networks see.
func build(base *run.Run, o Options) (*Run, error) {
	plan, err := NewPlan(base.Config, base.Source.Outline)
	if err != nil {
		return nil, err
	}
	r := &Run{Run: base, Plan: plan, options: o, ballots: make([]*ballot, plan.Teachers), answers: answers{class: map[int]int{}}}
	r.parts = partition(base.Source.Examples, plan.Teachers, base.Config.Training.Seed)
	return r, r.see()
}

// see computes what the networks see: examples, or features minus the mean of the public pool. What
// it does to a training example depends on no other one.
func (r *Run) see() error {
	err := r.See()
	if err != nil {
		return err
	}
	seen := r.Examples
	if r.dealt, err = data.ContentOf(seen.Train); err != nil {
		return err
	}
	pool, rest, drawn := setup.Pool(r.Config, r.Dir, seen.Test.Len())
	r.drawn = drawn
	if rows, ok := seen.Test.(*data.Features); ok && r.Config.Features.Any() {
		r.mean = meanOf(rows, pool)
		if err := setup.Centre(seen, r.mean, r.Pool); err != nil {
			return err
		}
	}
	r.pool, r.rest = data.Select(pool, seen.Test), data.Select(rest, seen.Test)
	r.graph, err = newGraph(r)
	return err
}

func meanOf(rows *data.Features, indices []int) []float32 {
	width := rows.Shape().Values()
	sum, row := make([]float64, width), make([]float32, width)
	for _, i := range indices {
		kernel.FromHalves(row, rows.Halves(i))
		for j, x := range row {
			sum[j] += float64(x)
		}
	}
	for j := range row {
		row[j] = float32(sum[j] / float64(len(indices)))
	}
	return row
}

// Identity implements [run.Job]: by the configuration and the outline of the data.
func (r *Run) Identity() string {
	identity := fmt.Sprintf("%s\n%s", r.Config.Identity(), r.Source.Identity())
	if r.drawn {
		identity += "\n" + setup.DrawnPool
	}
	return identity
}

// Planned implements [run.Job]: it returns the ledger of all checks and answers of the plan, of its
// release, and of the events that were lost in kills.
func (r *Run) Planned() (*accountant.Ledger, error) {
	return r.Plan.planned(r.Plan.Queries, r.Plan.Answers)
}

// State implements [run.Job]. Votes and answers are in files of their own.
func (r *Run) State() *checkpoints.State { return nil }

// Restore implements [run.Job]: it reads votes and answers.
func (r *Run) Restore(*checkpoints.State, string) error {
	if err := errors.Join(r.readBallots(), r.readAnswers()); err != nil {
		return err
	}
	return r.settle()
}

// Ready implements [run.Job]. A kill may have torn the last lines.
func (r *Run) Ready() error {
	r.desk = answer.NewDesk(r.Books, r.Plan.Allows)
	return errors.Join(run.EndLine(r.Path(votesFile)), run.EndLine(r.Path(answersFile)))
}

// Start implements [run.Job]: it calls the watcher.
func (r *Run) Start(context.Context) error {
	run.Tell(r.options.Started, r)
	return nil
}

// More implements [run.Job]: there is more to do until the student is trained.
func (r *Run) More() bool { return !r.learnt }

// Next implements [run.Job]: it trains all teachers, or asks one question, or pays the rest and
// trains the student.
func (r *Run) Next(ctx context.Context) error {
	switch {
	case r.dependent == nil:
		return r.teach(ctx)
	case r.asks():
		return r.askNext()
	}
	if err := r.pay(); err != nil {
		return err
	}
	if err := r.releaseDependent(); err != nil {
		return err
	}
	if len(r.answers.class) == 0 {
		return fmt.Errorf("%w: %s has asked %d questions, expected one at least that passes its check: a lower pate.threshold, or better teachers", ErrUnanswered, r.Dir, len(r.answers.asked))
	}
	return r.study(ctx)
}
