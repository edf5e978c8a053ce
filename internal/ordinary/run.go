package ordinary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/compute"
	"dpsgd/internal/examples"
	"dpsgd/internal/folder"
	"dpsgd/internal/kernel"
	"dpsgd/internal/labels"
	"dpsgd/internal/memory"
	"dpsgd/internal/plain"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// Options are what a run needs besides its configuration.
type Options struct {
	examples.Request
	RunsDir string // parent of new runs, and where the ledger of data sets lies
	Name    string // base of the folder's name when the configuration has none
	Watcher Watcher
}

// Run is one run with its folder. Close releases it.
type Run struct {
	Dir string

	config   *configs.Config
	source   *examples.Source
	examples *data.Split // as the network sees them
	outline  setup.Outline
	planHash string
	steps    int // of one training
	batch    int
	model    *model.Model
	initial  []float32 // the parameters that every training begins with
	started  string    // SHA-256 of the file with them; "" if they are random
	schedule optimizer.Schedule
	mean     *optimizer.Mean
	trainer  *plain.Trainer
	batches  *plain.Batches
	whole    []int

	evaluator *compute.Evaluator
	pool      *kernel.Pool
	watcher   Watcher

	// Where labels are private; nil and empty otherwise.
	accounts   account.Accountants
	journal    *books.Books
	registered checkpoints.Registration
	answers    labels.Response
	secret     *data.Unlabelled                      // the training examples; they alone know the labels
	ask        func(candidates []int, place int) int // asks the label of one for an answer among so many classes
	told       []int32                               // the answers, by place; untold where there is none yet
	cost       *account.Spent
	costOf     int // entries of the ledger that cost is of

	order *run.Order // of checkpoints and parameters

	phase, step int // the training under way, and its updates so far
	resumedAt   int
	evaluation  compute.Evaluation
	byClass     *score.Matrix // of that
	begun       time.Time
	stepped     int
	stepTime    time.Duration
}

// Create prepares a new run and makes its folder when everything has been found in order.
func Create(c *configs.Config, o Options) (*Run, error) {
	r, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	if err = r.source.Check(); err == nil {
		r.Dir, err = folder.New(cmp.Or(o.RunsDir, "runs"), c.Run.Name, o.Name)
	}
	if err == nil {
		err = r.fill(o)
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.Dir))
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// fill writes what a run has before its first step.
func (r *Run) fill(o Options) error {
	planned, err := r.planned()
	if err != nil {
		return err
	}
	if r.config.Privacy.None {
		if err := books.RefuseBaseline(cmp.Or(o.RunsDir, "runs"), r.config, r.outline); err != nil {
			return err
		}
		err = checkpoints.WriteFileAtomic(r.path(folder.Config), r.config.YAML(), folder.FilePerm)
	} else {
		r.journal, r.registered, err = books.Begin(r.Dir, cmp.Or(o.RunsDir, "runs"), r.config, (*configs.Config).YAML, r.outline, planned)
	}
	if err != nil {
		return err
	}
	if err := checkpoints.WriteFileAtomic(r.path(folder.Plan), []byte(r.identity()), folder.FilePerm); err != nil {
		return err
	}
	return r.save()
}

// Open prepares a run that was started before to go on from its last checkpoint.
func Open(dir string, o Options) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	r, err := prepare(c, o)
	if err != nil {
		return nil, err
	}
	r.Dir = dir
	if err := r.goOn(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// goOn checks everything before it writes.
func (r *Run) goOn() (err error) {
	if !r.config.Privacy.None {
		if r.journal, err = books.Open(r.Dir); err != nil {
			return err
		}
	} else if folder.HoldsAny(r.Dir, folder.Ledger) {
		return fmt.Errorf("%w: %s holds a ledger, and its %s says privacy.none; expected the configuration that the ledger was begun with", books.ErrOtherPlan, r.Dir, folder.Config)
	}
	if err := r.readAnswers(); err != nil {
		return err
	}
	if err := r.restore(); err != nil {
		return err
	}
	if r.journal == nil {
		return nil
	}
	if r.registered, err = books.Registration(r.config, r.outline, r.journal.Registry, r.Dir); err != nil {
		return err
	}
	if err := r.checkAnswers(); err != nil {
		return err
	}
	planned, err := r.planned()
	if err != nil {
		return err
	}
	return r.journal.Settle(r.registered, planned)
}

// prepare builds everything that needs no folder.
func prepare(c *configs.Config, o Options) (*Run, error) {
	o.Features = filepath.Join(cmp.Or(o.RunsDir, "runs"), folder.Features)
	if err := o.Fit(c, memory.Check); err != nil {
		return nil, err
	}
	source, err := o.Find(c)
	if err != nil {
		return nil, err
	}
	r := &Run{config: c, source: source, outline: source.Outline, watcher: o.Watcher, order: run.NewOrder(nil), batch: min(c.Training.BatchSize, source.Examples)}
	if source.Warning() != "" && o.Given == nil {
		r.watcher.Warned(source.Warning())
	}
	if r.steps = setup.Steps(c.Training, float64(r.batch), source.Examples); !c.Privacy.None {
		if err := r.planLabels(); err != nil {
			return nil, err
		}
	}
	r.pool = kernel.NewPool(setup.Threads(c))
	if err := r.build(); err != nil {
		r.pool.Close()
		return nil, err
	}
	return r, nil
}

// planLabels fixes what the answers for the labels cost.
func (r *Run) planLabels() (err error) {
	p := r.config.Privacy
	if r.answers, err = labels.NewResponse(r.outline.Classes, p.Epsilon); err != nil {
		return fmt.Errorf("%w: %w", setup.ErrPlan, err)
	}
	if err := setup.CheckDelta(p.Delta, r.outline.Examples, "training examples"); err != nil {
		return err
	}
	r.accounts, err = account.New(p.Accountant, accountant.ZeroOut)
	return err
}

func (r *Run) build() (err error) {
	c := r.config
	if r.model, err = setup.Model(c, r.source.Shape, r.source.Classes); err != nil {
		return err
	}
	if r.started, err = setup.Start(c, r.model); err != nil {
		return err
	}
	r.initial = append([]float32(nil), r.model.Values...)
	if r.examples, err = r.source.Seen(r.pool); err != nil {
		return err
	}
	if setup.Places(c) == setup.ByContent {
		if err := r.hideLabels(); err != nil {
			return err
		}
	}
	r.planHash = hashOf(r.identity())
	r.schedule = setup.Schedule(c, r.steps)
	if c.Privacy.None {
		// Its learning rate is meant for gradients that are clipped to a length of clip_norm. Of those
		// that are not, which are about 1 long while there is something to learn, as large a step takes
		// a rate that is so much smaller.
		r.schedule.Peak *= min(1, c.Privacy.ClipNorm)
	}
	if err := r.schedule.Check(); err != nil {
		return err
	}
	normalisation := setup.Normalisation(c, r.source.Shape.Channels)
	batcher, err := data.NewBatcher(r.examples.Train, normalisation)
	if err != nil {
		return err
	}
	views, err := setup.Views(c, r.source.Shape)
	if err != nil {
		return err
	}
	r.trainer, err = plain.New(r.model, batcher, plain.Options{Rule: c.Optimizer.Rule, Physical: min(c.Training.PhysicalBatchSize, r.batch), Views: views, Pool: r.pool, Ready: r.order.Wait})
	if err != nil {
		return fmt.Errorf("%w: %w", setup.ErrPlan, err)
	}
	for i := range r.source.Examples {
		r.whole = append(r.whole, i)
	}
	if r.evaluator, err = compute.NewEvaluator(r.model, r.examples.Test, normalisation, r.pool); err != nil {
		return err
	}
	return r.beginPhase(0)
}

// hideLabels puts the training examples in an order that tells nothing of their labels, and lets nobody
// see a label but who asks for an answer.
func (r *Run) hideLabels() (err error) {
	if r.secret, err = data.NewUnlabelled(r.examples.Train, random.New()); err != nil {
		return err
	}
	seen := *r.examples
	seen.Train = r.secret
	r.examples = &seen
	src := random.New()
	r.ask = func(candidates []int, place int) int { return r.answers.Among(candidates, r.secret.Secret(place), src) }
	return nil
}

// identity is the text whose hash checkpoints hold, of public values alone. Where labels are private
// the examples are public, and it holds a hash of them: answers belong to places, so that with another
// picture among them a label could be asked twice.
func (r *Run) identity() string {
	identity := r.foundIdentity()
	if r.secret != nil {
		identity += fmt.Sprintf("examples_sha256 %s\n", r.secret.Content())
	}
	return identity
}

func hashOf(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return hex.EncodeToString(sum[:])
}

// foundIdentity is that of runs whose examples stand in the order in which they are found.
func (r *Run) foundIdentity() string {
	var h strings.Builder
	if r.config.Features.Any() {
		fmt.Fprintln(&h, r.config.Features.Recipe)
	}
	fmt.Fprintf(&h, "%s\nordinary steps %d\nexamples %d %v %q\n", r.config.Identity(), r.steps, r.outline.Examples, r.outline.Shape, r.outline.Names)
	if r.started != "" {
		fmt.Fprintf(&h, "initial weights %s\n", r.started)
	}
	return h.String()
}

// phases is how often a network is trained.
func (r *Run) phases() int {
	if r.config.Privacy.None {
		return 1
	}
	return r.config.Privacy.LabelStages
}

// beginPhase begins a training from the initial weights: the last one on all examples, one before it
// on the first half.
func (r *Run) beginPhase(phase int) (err error) {
	r.phase, r.step = phase, 0
	copy(r.model.Values, r.initial)
	r.trainer.Forget()
	if r.mean, err = optimizer.NewMean(r.config.Training.Average, r.model.Values, r.steps); err != nil {
		return err
	}
	learnt := r.whole
	if !r.last() {
		learnt = r.half()
	}
	r.batches = plain.NewBatches(learnt, r.batch, r.config.Training.Seed+uint64(phase))
	return nil
}

// last says whether the training under way is the one that the model comes from.
func (r *Run) last() bool { return r.phase == r.phases()-1 }

// half are the examples whose labels are told first. It parts no equal ones: when the run goes on they
// stand in another order, and none may be asked again.
func (r *Run) half() []int { return r.whole[:r.secret.Boundary(len(r.whole)/2)] }

// done counts the steps of all trainings so far.
func (r *Run) done() int { return r.phase*r.steps + r.step }

// restore loads the newest checkpoint, after checking it against ledger and plan.
func (r *Run) restore() error {
	state, path, err := checkpoints.Latest(r.path(folder.Checkpoints))
	switch {
	case errors.Is(err, checkpoints.ErrSkipped):
		r.watcher.Warned(err.Error())
	case errors.Is(err, checkpoints.ErrNoCheckpoint) && (r.journal == nil || r.journal.Len() == 0):
		return nil
	case err != nil:
		return err
	}
	if r.journal != nil {
		if err := r.journal.Check(state.Claim()); err != nil {
			return err
		}
	}
	if n := state.LedgerEntries; n > 0 && (r.told == nil || r.stageOf() < n) {
		return nil // answers are lost, which checkAnswers and tell deal with
	}
	if r.secret != nil && state.PlanHash == r.fingerprint(hashOf(r.foundIdentity()), state.LedgerEntries) {
		return fmt.Errorf("%w: %s is of an earlier version, in which the places of the examples could follow from their labels, so that going on would tell labels; start a new run, what was asked still counts in the ledger of the data", books.ErrOtherPlan, path)
	}
	if state.PlanHash != r.fingerprint(r.planHash, state.LedgerEntries) || !state.Unreleased || len(state.Parameters) != len(r.model.Values) {
		return fmt.Errorf("%w: %s was made with another configuration, other answers, other data or other initial weights than %s and what is found now", books.ErrOtherPlan, path, r.path(folder.Config))
	}
	if err := r.beginPhase(min(state.Step/r.steps, r.phases()-1)); err != nil {
		return err
	}
	if err := r.mean.Restore(state.Slots); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := r.trainer.Restore(optimizer.State{Step: state.OptimizerStep, Slots: state.Slots}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	copy(r.model.Values, state.Parameters)
	r.step = state.Step - r.phase*r.steps
	r.resumedAt = state.Step
	return nil
}

// save writes a checkpoint, and returns when it is durable.
func (r *Run) save() error {
	if err := r.beginSave(); err != nil {
		return err
	}
	return r.order.Wait()
}

// beginSave begins to write a checkpoint. The next step waits for it before it changes parameters.
func (r *Run) beginSave() error {
	state := r.trainer.View()
	r.mean.Keep(state.Slots)
	s := &checkpoints.State{Step: r.done(), Parameters: r.model.Values, OptimizerStep: state.Step, Slots: state.Slots, PlanHash: r.planHash, Unreleased: true}
	if r.journal != nil {
		s.LedgerEntries, s.LedgerHash, s.PlanHash = r.journal.Len(), r.journal.Hash(), r.fingerprint(r.planHash, r.journal.Len())
	}
	return r.order.Save(func() error {
		_, err := checkpoints.Save(r.path(folder.Checkpoints), s)
		return err
	}, func(err error) error {
		if err != nil {
			return fmt.Errorf("train: step %d: %w", s.Step, err)
		}
		return nil
	})
}

// Fit carries out the run from where it is. When ctx is done it saves and returns with status
// Interrupted.
func (r *Run) Fit(ctx context.Context) (result Result, err error) {
	defer func() { err = r.journal.Told(err) }()
	r.begun = time.Now()
	r.watcher.Started(r.overview())
	if err := r.tell(); err != nil {
		return Result{}, err
	}
	for {
		status, err := r.train(ctx)
		if err != nil {
			return Result{}, err
		}
		if status != run.Done || r.last() {
			return r.finish(status)
		}
		if err := r.tellRest(); err != nil {
			return Result{}, err
		}
		if err := r.beginPhase(r.phase + 1); err != nil {
			return Result{}, err
		}
		if err := r.save(); err != nil {
			return Result{}, err
		}
	}
}

// train takes the steps of the training under way.
func (r *Run) train(ctx context.Context) (run.Status, error) {
	for r.step < r.steps {
		if ctx.Err() != nil {
			return run.Interrupted, r.order.Wait()
		}
		start := time.Now()
		if err := r.trainer.Step(r.batches.At(r.step), r.done(), r.schedule.LearningRate(r.step)); err != nil {
			return "", err
		}
		r.step++
		r.mean.Add(r.model.Values, r.step)
		r.stepped++
		r.stepTime += time.Since(start)
		if err := r.due(); err != nil {
			return "", err
		}
	}
	return run.Done, r.order.Wait()
}

// due does what is due after a step at its cadence.
func (r *Run) due() error {
	every := func(n int) bool { return n > 0 && r.step%n == 0 }
	evaluated := every(r.config.Training.EvaluateEvery) && r.step < r.steps
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
	p, err := r.progress()
	p.Evaluated = evaluated
	r.watcher.Stepped(p)
	return err
}

// spent is what the ledger holds; nil where there is no guarantee. No step changes it, so the
// accountant is asked once for each entry.
func (r *Run) spent() (*account.Spent, error) {
	if r.journal == nil || r.cost != nil && r.costOf == r.journal.Len() {
		return r.cost, nil
	}
	s, _, err := r.accounts.Spent(r.journal.Ledger(), r.config.Privacy.Delta)
	if err != nil {
		return nil, err
	}
	r.cost, r.costOf = &s, r.journal.Len()
	return r.cost, nil
}

func (r *Run) path(name string) string { return filepath.Join(r.Dir, name) }

// Close releases the ledger and the workers.
func (r *Run) Close() error {
	r.order.Close()
	r.pool.Close()
	if r.journal == nil {
		return nil
	}
	return r.journal.Close()
}

// exists says whether a file of the run is there.
func (r *Run) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// event is that of the answers for all labels.
func (r *Run) event() accountant.Event { return labels.Event(r.config.Privacy.Epsilon) }

// planned is the answers for all labels, in as many stages as there are.
func (r *Run) planned() (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	if r.config.Privacy.None {
		return l, nil
	}
	if err := l.Add(r.event(), 1); err != nil {
		return nil, err
	}
	return l, l.Add(r.stage(), r.phases()-1)
}
