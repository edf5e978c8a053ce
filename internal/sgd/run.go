package sgd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
	"dpsgd/optimizer"
)

// Options are what a run needs besides its configuration.
type Options struct {
	run.Options
	Watcher
}

// Run is one run without noise on gradients, a [run.Job]. Close releases it.
type Run struct {
	*run.Run
	*run.Network

	steps   int       // of one training
	batch   int       // examples in a step
	start   []float32 // the parameters that every training begins with
	trainer *Trainer
	batches *Batches
	whole   []int // the places of all training examples
	phase   int   // the training under way
	watcher Watcher
	result  Result

	// Where labels are private, they, their answers and what these cost.
	accounts account.Accountants
	answers  Response
	secret   *data.Unlabelled                      // the training examples; they alone know the labels
	ask      func(candidates []int, place int) int // asks the label of one for an answer among so many classes
	told     []int32                               // the answers, by place; untold where there is none yet
}

// Create prepares a new run and makes its folder when everything has been found in order.
func Create(c *configs.Config, o Options) (*Run, error) { return run.Create(c, o.Options, o.build) }

// Open prepares a run that was started before to go on from its last checkpoint.
func Open(dir string, o Options) (*Run, error) {
	c, err := folder.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	return run.Open(dir, c, o.Options, o.build)
}

// build plans the run, and declares its network and its trainer. It writes nothing.
func (o Options) build(base *run.Run) (*Run, error) {
	r := &Run{Run: base, watcher: o.Watcher, batch: min(base.Config.Training.BatchSize, base.Source.Examples)}
	if r.steps = setup.Steps(r.Config.Training, float64(r.batch), r.Source.Examples); !r.Config.Privacy.None {
		if err := r.planLabels(); err != nil {
			return nil, err
		}
	}
	var err error
	if r.Network, err = base.Declare(); err != nil {
		return nil, err
	}
	r.start = slices.Clone(r.Model.Values)
	return r, r.compile()
}

// planLabels makes the randomised response for the labels, and fixes what it costs.
func (r *Run) planLabels() (err error) {
	p := r.Config.Privacy
	if r.phases() > 1 && r.Source.Classes > untold {
		return fmt.Errorf("%w: found %d classes with privacy.label_stages %d, expected at most %d, or 1 stage", setup.ErrPlan, r.Source.Classes, r.phases(), untold)
	}
	if r.answers, err = NewResponse(r.Source.Classes, p.Epsilon); err != nil {
		return fmt.Errorf("%w: %w", setup.ErrPlan, err)
	}
	if err := setup.CheckDelta(p.Delta, r.Source.Examples, "training examples"); err != nil {
		return err
	}
	r.accounts, err = account.New(p.Accountant, accountant.ZeroOut)
	return err
}

// compile declares the graph of training.
func (r *Run) compile() (err error) {
	c := r.Config
	if setup.Places(c) == setup.ByContent {
		if err := r.hideLabels(); err != nil {
			return err
		}
	}
	if err := setup.CheckWarmup(c, r.steps); err != nil {
		return err
	}
	r.Schedule = setup.Schedule(c, r.steps)
	if c.Privacy.None {
		// Its learning rate is meant for gradients that are clipped to a length of clip_norm. Of
		// those that are not, which are about 1 long while there is something to learn, as large a
		// step takes a rate that is so much smaller.
		r.Schedule.Peak *= min(1, c.Privacy.ClipNorm)
	}
	if err := r.Schedule.Check(); err != nil {
		return err
	}
	if r.trainer, err = NewTrainer(c, r.Model, r.Examples.Train, r.Source.Shape, c.Optimizer.Rule, r.batch, r.Pool); err != nil {
		return err
	}
	r.trainer.Ready = func() error { return r.Order.Wait() }
	for i := range r.Source.Examples {
		r.whole = append(r.whole, i)
	}
	return r.beginPhase(0)
}

// hideLabels puts the training examples in an order that tells nothing of their labels, and lets
// nobody see a label but who asks for an answer.
func (r *Run) hideLabels() (err error) {
	if r.secret, err = data.NewUnlabelled(r.Examples.Train, random.New()); err != nil {
		return err
	}
	seen := *r.Examples
	seen.Train = r.secret
	r.Examples = &seen
	src := random.New()
	r.ask = func(candidates []int, place int) int { return r.answers.Among(candidates, r.secret.Secret(place), src) }
	return nil
}

// Identity returns the text whose hash checkpoints hold, of public values alone. Where labels are
// private the examples are public, and it holds a hash of them: answers belong to places, so that
// with another picture among them a label could be asked twice.
func (r *Run) Identity() string {
	identity := r.foundIdentity()
	if r.secret != nil {
		identity += fmt.Sprintf("examples_sha256 %s\n", r.secret.Content())
	}
	return identity
}

// foundIdentity returns the identity of a run whose examples stand in the order in which they were
// found.
func (r *Run) foundIdentity() string {
	var h strings.Builder
	if r.Config.Features.Any() {
		fmt.Fprintln(&h, r.Config.Features.Recipe)
	}
	fmt.Fprintf(&h, "%s\nordinary steps %d\n%s", r.Config.Identity(), r.steps, r.Source.Identity())
	if r.Initial != "" {
		fmt.Fprintf(&h, "initial weights %s\n", r.Initial)
	}
	return h.String()
}

// phases returns how many times the run trains the network from the start: once for each stage of
// answers, and once without private labels.
func (r *Run) phases() int {
	if r.Config.Privacy.None {
		return 1
	}
	return r.Config.Privacy.LabelStages
}

// beginPhase begins a training from the initial weights: the last one on all examples, one before
// it on the first half.
func (r *Run) beginPhase(phase int) (err error) {
	r.phase = phase
	copy(r.Model.Values, r.start)
	r.trainer.Forget()
	if r.Mean, err = optimizer.NewMean(r.Config.Training.Average, r.Model.Values, r.steps); err != nil {
		return err
	}
	learnt := r.whole
	if !r.last() {
		learnt = r.half()
	}
	r.batches = NewBatches(learnt, r.batch, r.Config.Training.Seed+uint64(phase))
	return nil
}

// last reports whether the training under way is the one that the model comes from.
func (r *Run) last() bool { return r.phase == r.phases()-1 }

// half returns the examples whose labels are told in the first stage. Equal examples are all in it
// or all out of it: a resumed run may find them in another order, and must not ask one label twice.
func (r *Run) half() []int { return r.whole[:r.secret.Boundary(len(r.whole)/2)] }

// done returns how many steps the training under way has taken.
func (r *Run) done() int { return r.Step - r.phase*r.steps }

// Restore takes in the answers, and the checkpoint that was made with them.
func (r *Run) Restore(s *checkpoints.State, path string) error {
	if err := r.readAnswers(); err != nil {
		return err
	}
	if err := r.restore(s, path); err != nil || r.Books == nil {
		return err
	}
	return r.checkAnswers()
}

func (r *Run) restore(s *checkpoints.State, path string) error {
	if s == nil {
		return nil
	}
	if n := s.LedgerEntries; n > 0 && (r.told == nil || r.stageOf() < n) {
		return nil // answers are lost, which checkAnswers deals with
	}
	if r.secret != nil && s.PlanHash == r.fingerprint(run.HashOf(r.foundIdentity()), s.LedgerEntries) {
		return fmt.Errorf("%w: %s is of an earlier version, in which the places of the examples could follow from their labels, so that going on would tell labels; start a new run, what was asked still counts in the ledger of the data", books.ErrOtherPlan, path)
	}
	switch {
	case r.Books == nil && s.PlanHash != r.PlanHash:
		return r.OtherPlan(path, s.PlanHash)
	case s.PlanHash != r.fingerprint(r.PlanHash, s.LedgerEntries) || !s.Unreleased:
		return fmt.Errorf("%w: %s was made with another configuration, other answers, other data or other initial weights than %s and what is found now", books.ErrOtherPlan, path, r.Path(folder.Config))
	}
	if err := r.Fits(s, path); err != nil {
		return err
	}
	// The last step of a training is also the start of the next one, once the answers for that are
	// told.
	if err := r.beginPhase(min(s.Step/r.steps, max(1, s.LedgerEntries)-1)); err != nil {
		return err
	}
	return r.Network.Restore(s, path, r.trainer.Restore)
}

// State returns what a checkpoint keeps. With private labels it is bound to the answers.
func (r *Run) State() *checkpoints.State {
	s := r.View(r.trainer.View())
	s.Unreleased = true
	if r.Books != nil {
		s.PlanHash = r.fingerprint(r.PlanHash, r.Books.Len())
	}
	return s
}

// Ready opens the metrics.
func (r *Run) Ready() error {
	r.OpenMetrics()
	return nil
}

// Fit carries out the run from where it is. When ctx is done it saves and returns with status
// Interrupted.
func (r *Run) Fit(ctx context.Context) (Result, error) {
	err := r.CarryOut(ctx)
	return r.result, err
}

// Start asks for the labels of the first stage, and saves; it asks none that was asked.
func (r *Run) Start(context.Context) error {
	run.Tell(r.watcher.Started, r.overview())
	if err := r.tell(); err != nil {
		return err
	}
	return r.endPhase()
}

// More reports whether a step is left.
func (r *Run) More() bool { return r.Step < r.phases()*r.steps }

// Next takes a step of the training under way.
func (r *Run) Next(context.Context) error {
	start, step := time.Now(), r.done()
	if err := r.trainer.Step(r.batches.At(step), r.Step, r.Schedule.LearningRate(step)); err != nil {
		return err
	}
	r.Step++
	r.Mean.Add(r.Model.Values, step+1)
	r.Took(time.Since(start))
	evaluated, err := r.Due(step+1, r.steps, r.evaluate)
	if err != nil {
		return err
	}
	p := r.progress()
	p.Evaluated = evaluated
	run.Tell(r.watcher.Stepped, p)
	return r.endPhase()
}

// endPhase goes over to the next training where the one under way has all its steps.
func (r *Run) endPhase() error {
	if r.last() || r.done() < r.steps {
		return nil
	}
	if err := r.Order.Wait(); err != nil { // what is being written is the end of this training
		return err
	}
	if err := r.tellRest(); err != nil {
		return err
	}
	if err := r.beginPhase(r.phase + 1); err != nil {
		return err
	}
	return r.Save()
}

// spent returns the cost of the answers for labels so far.
func (r *Run) spent() (account.Spent, error) {
	s, _, err := r.accounts.Spent(r.Books.Ledger(), r.Config.Privacy.Delta)
	return s, err
}

// event returns the event of the answers for all labels.
func (r *Run) event() accountant.Event { return LabelsTold(r.Config.Privacy.Epsilon) }

// Planned returns the ledger that the run has at its end: the answers for all labels, with an entry
// for each stage.
func (r *Run) Planned() (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	if r.Config.Privacy.None {
		return l, nil
	}
	if err := l.Add(r.event(), 1); err != nil {
		return nil, err
	}
	return l, l.Add(r.stage(), r.phases()-1)
}
