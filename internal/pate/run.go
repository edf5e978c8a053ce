package pate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dpsgd/accountant/votes"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/compute"
	"dpsgd/internal/examples"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
)

// ErrUnanswered: the budget is spent and no question was answered.
var ErrUnanswered = errors.New("train: no question was answered")

// Options are what a run needs besides its configuration. None of them changes what is computed.
type Options struct {
	DataDir, DataFolder string // as in package examples
	RunsDir             string // parent of new runs; "runs" when empty
	Name                string // base of the folder's name when the configuration has none
	Threads             int    // in place of what the configuration says; 0 is what it says
	// Started, Progress and Warned watch; nil watches nothing.
	Started  func(*Run)
	Progress func(Progress)
	Warned   func(message string)
	Computed func(done, total int)
	Source   *data.Split // in place of the configured data; nil reads
}

// Progress is how far a run is.
type Progress struct {
	Stage       string // teachers, questions or student
	Done, Total int
	Answered    int
	Spent       account.Spent // of the ledger; zero among teachers
	// Dependent is the data-dependent ε so far. It is NOT PRIVATE, unless Released says that it is the
	// bound that was released.
	Dependent float64
	Released  bool
	Accuracy  float64 // of the student
}

// Run is one run with its folder. Close releases it.
type Run struct {
	Dir  string
	Plan *Plan

	plan       *Plan
	config     *configs.Config
	options    Options
	source     *examples.Source
	seen       *data.Split // as the networks see examples
	pool, rest data.Set    // of the test examples
	mean       []float32   // of the pool, taken off features; nil without
	graph      *graph      // of the pool
	parts      [][]int     // of the training examples, one for each teacher
	threads    *kernel.Pool
	journal    *books.Books
	registered checkpoints.Registration

	mu         sync.Mutex
	ballots    []*ballot // PRIVATE; nil where a teacher is not trained yet
	answers    answers
	dependent  *votes.Account // PRIVATE
	student    *network
	evaluation compute.Evaluation
	started    time.Time
}

// Create prepares a new run, and only when all of that has worked makes its folder.
func Create(c *configs.Config, o Options) (*Run, error) {
	r, err := prepare(c, o, cmp.Or(o.RunsDir, "runs"))
	if err != nil {
		return nil, err
	}
	if err = r.source.Check(); err == nil {
		r.Dir, err = folder.New(cmp.Or(o.RunsDir, "runs"), c.Run.Name, o.Name)
	}
	if err == nil {
		if err = r.fill(cmp.Or(o.RunsDir, "runs")); err != nil {
			err = errors.Join(err, os.RemoveAll(r.Dir))
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// fill writes what the folder has before the first teacher.
func (r *Run) fill(registry string) error {
	planned, err := r.plan.planned(r.plan.Queries, r.plan.Answers)
	if err != nil {
		return err
	}
	if r.journal, r.registered, err = books.Begin(r.Dir, registry, r.config, (*configs.Config).YAML, r.source.Outline, planned); err != nil {
		return err
	}
	if err := checkpoints.WriteFileAtomic(r.path(folder.Plan), r.identity(), folder.FilePerm); err != nil {
		return err
	}
	return r.readAnswers()
}

// Open prepares a run that was started before to go on.
func Open(dir string, o Options) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	journal, err := books.Open(dir)
	if err != nil {
		return nil, err
	}
	r, err := prepare(c, o, journal.Registry)
	if err != nil {
		journal.Close()
		return nil, err
	}
	r.Dir, r.journal = dir, journal
	if err := r.goOn(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// goOn takes in what there is, and writes nothing before all of it has been checked.
func (r *Run) goOn() error {
	kept, err := os.ReadFile(r.path(folder.Plan))
	if err != nil {
		return folder.Without(r.Dir, folder.Plan)
	}
	if string(kept) != string(r.identity()) {
		return fmt.Errorf("%w: %s was made with %s; expected %s and the data as they were", books.ErrOtherPlan, r.path(folder.Plan),
			strings.Join(folder.Differences(string(kept), string(r.identity())), ", "), r.path(folder.Config))
	}
	if err := errors.Join(r.readBallots(), r.readAnswers()); err != nil {
		return err
	}
	if err := r.settle(); err != nil {
		return err
	}
	if r.registered, err = books.Registration(r.config, r.source.Outline, r.journal.Registry, r.Dir); err != nil {
		return err
	}
	planned, err := r.plan.planned(r.plan.Queries, r.plan.Answers)
	if err != nil {
		return err
	}
	if err := r.journal.Settle(r.registered, planned); err != nil {
		return err
	}
	// A kill may have torn their last lines.
	return errors.Join(run.EndLine(r.path(votesFile)), run.EndLine(r.path(answersFile)))
}

// prepare reads the data and fixes the plan.
func prepare(c *configs.Config, o Options, registry string) (*Run, error) {
	request := examples.Request{
		DataDir: o.DataDir, DataFolder: o.DataFolder, Features: filepath.Join(registry, folder.Features), Given: o.Source, Computed: o.Computed,
	}
	source, err := request.Find(c)
	if err != nil {
		return nil, err
	}
	plan, err := NewPlan(c, source.Outline)
	if err != nil {
		return nil, err
	}
	r := &Run{Plan: plan, plan: plan, config: c, options: o, source: source, ballots: make([]*ballot, plan.Teachers)}
	r.parts = partition(source.Examples, plan.Teachers, c.Training.Seed)
	r.threads = kernel.NewPool(cmp.Or(o.Threads, setup.Threads(c)))
	if err := r.see(); err != nil {
		r.threads.Close()
		return nil, err
	}
	if w := source.Warning(); w != "" && o.Source == nil {
		r.warn(w)
	}
	return r, nil
}

// see computes what the networks see: examples, or features of them, from which the mean of the
// public pool is taken off. No training example has a part in what is done to another.
func (r *Run) see() error {
	var err error
	if r.seen, err = r.source.Seen(r.threads); err != nil {
		return err
	}
	if r.pool, err = data.Part(r.seen.Test, 0, r.plan.Pool); err != nil {
		return err
	}
	if pool, ok := r.pool.(*data.Features); ok && r.config.Features.Any() {
		r.mean = meanOf(pool)
		if err := examples.Centre(r.seen, r.mean, r.threads); err != nil {
			return err
		}
	}
	if r.rest, err = data.Part(r.seen.Test, r.plan.Pool, r.seen.Test.Len()); err != nil {
		return err
	}
	r.graph, err = newGraph(r)
	return err
}

// meanOf is the mean of rows that are public.
func meanOf(rows *data.Features) []float32 {
	width := rows.Shape().Values()
	sum, row := make([]float64, width), make([]float32, width)
	for i := range rows.Len() {
		kernel.FromHalves(row, rows.Halves(i))
		for j, x := range row {
			sum[j] += float64(x)
		}
	}
	for j := range row {
		row[j] = float32(sum[j] / float64(rows.Len()))
	}
	return row
}

// identity is what may not change between the parts of a run. All of it is public.
func (r *Run) identity() []byte {
	o := r.source.Outline
	return fmt.Appendf(nil, "%s\nexamples %d %v %q\n", r.config.Identity(), o.Examples, o.Shape, o.Names)
}

// Fit carries out the plan from where it stands. When ctx is done it returns with status interrupted,
// and what was trained and answered is kept.
func (r *Run) Fit(ctx context.Context) (result Result, err error) {
	defer func() { err = r.journal.Told(err) }()
	r.started = time.Now()
	if r.options.Started != nil {
		r.options.Started(r)
	}
	if err = r.teach(ctx); err == nil {
		r.dependent = r.plan.Aggregation.NewAccount()
		r.dependent.AddLost(r.plan.lost.Checks, r.plan.lost.Answers)
		for question, answered := range r.answers.asked {
			r.dependent.Add(votes.Question{Votes: r.counts(question), Answered: answered})
		}
		err = r.ask(ctx)
	}
	if err == nil && len(r.answers.class) == 0 {
		return Result{}, fmt.Errorf("%w: %s has asked %d questions, expected one at least that passes its check: a lower pate.threshold, or better teachers", ErrUnanswered, r.Dir, len(r.answers.asked))
	}
	if err == nil {
		err = r.study(ctx, r.threads)
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return r.interrupted()
		}
		return Result{}, err
	}
	return r.finish()
}

// Close releases the ledger and the workers.
func (r *Run) Close() error {
	r.threads.Close()
	if r.journal == nil {
		return nil
	}
	return r.journal.Close()
}

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }

func (r *Run) show(p Progress) {
	if r.options.Progress != nil {
		r.options.Progress(p)
	}
}

func (r *Run) warn(message string) {
	if r.options.Warned != nil {
		r.options.Warned(message)
	}
}

// seconds is the time of this part of the run.
func (r *Run) seconds() float64 { return time.Since(r.started).Seconds() }
