// Package plain trains without privacy: ordinary minibatch SGD on the kernels of private training.
// What it makes is NOT PRIVATE with respect to the examples that it saw. Four things use it, and each
// says so where its result is seen:
//
//   - the baseline of `privacy.none`, whose run is marked NOT PRIVATE;
//   - training on released labels, which were private before and are public now;
//   - teachers, whose votes leave through the door and who do not leave at all;
//   - the steps that a client takes on its own examples, of which the clipped sum leaves.
package plain

import (
	"context"
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// Trainer takes plain steps with a model. It is not safe for concurrent use.
type Trainer struct {
	model  *model.Model
	sums   *gradients.Sums
	update *optimizer.Plain
	ready  func() error
}

// Options say how a [Trainer] computes.
type Options struct {
	Rule     optimizer.UpdateRule
	Physical int          // examples that one run of the graph holds, at least 1
	Views    *data.Views  // in which the network sees examples; nil is as they are
	Labels   []int32      // learnt in place of the examples' own, one for each of them; nil is their own
	Pool     *kernel.Pool // nil is the caller's thread alone
	Ready    func() error // waited for, with the gradient at hand, before parameters change; nil for nothing
}

// New returns a trainer of the model's parameters on the examples of a batcher.
func New(m *model.Model, examples *data.Batcher, o Options) (*Trainer, error) {
	if o.Labels != nil && len(o.Labels) != examples.Len() {
		return nil, fmt.Errorf("plain: %d labels, expected one for each of the %d examples", len(o.Labels), examples.Len())
	}
	sums, err := gradients.NewSums(m, examples, o.Views, max(1, o.Physical), o.Pool)
	if err != nil {
		return nil, err
	}
	sums.Learn(o.Labels)
	update, err := optimizer.NewPlain(o.Rule, len(m.Values), o.Pool)
	if err != nil {
		return nil, err
	}
	return &Trainer{model: m, sums: sums, update: update, ready: o.Ready}, nil
}

// Step moves the parameters by one step of the given learning rate with the mean gradient of the
// examples with these indices, at least one of them. step is its number, counted from 0.
func (t *Trainer) Step(indices []int, step int, rate float64) error {
	sum, err := t.sums.AtStep(step).Of(indices)
	if err != nil {
		return err
	}
	if t.ready != nil {
		if err := t.ready(); err != nil {
			return err
		}
	}
	return t.update.Apply(t.model.Values, sum, float64(len(indices)), rate)
}

// Show exchanges the examples for those of another batcher, of the same shape, with their labels or,
// if labels is not nil, with these.
func (t *Trainer) Show(examples *data.Batcher, labels []int32) {
	t.sums.Show(examples)
	t.sums.Learn(labels)
}

// Learn makes later steps learn these labels, one for each example of the set; nil is their own.
func (t *Trainer) Learn(labels []int32) { t.sums.Learn(labels) }

// Forget resets the update rule to before its first step, to train from the start again.
func (t *Trainer) Forget() { t.update.Forget() }

// View and Restore are those of the update rule.
func (t *Trainer) View() optimizer.State           { return t.update.View() }
func (t *Trainer) Restore(s optimizer.State) error { return t.update.Restore(s) }

// Train takes so many steps through the examples with these indices, in the batches of [Batches].
// When ctx is done it ends with its error.
func (t *Trainer) Train(ctx context.Context, indices []int, batch, steps int, rate func(step int) float64, seed uint64) error {
	batches := NewBatches(indices, batch, seed)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.Step(batches.At(step), step, rate(step)); err != nil {
			return err
		}
	}
	return nil
}

// Batches is the order in which ordinary training goes through examples: every one of them once in
// each pass, shuffled anew for each by a public seed. The last examples of a pass that make no whole
// batch wait for a later one. This is no sampling that an accountant knows.
type Batches struct {
	indices, order []int
	batch          int
	seed           uint64
	pass           int // that order is of; -1 before the first
}

// NewBatches returns batches of so many of these indices, or of all where there are fewer.
func NewBatches(indices []int, batch int, seed uint64) *Batches {
	return &Batches{indices: indices, order: make([]int, len(indices)), batch: max(1, min(batch, len(indices))), seed: seed, pass: -1}
}

// PerPass returns how many batches a pass has.
func (b *Batches) PerPass() int { return max(1, len(b.indices)/b.batch) }

// At returns the batch of a step, counted from 0, which lasts until the next call. A run that goes on
// at a step finds the batch that it would have found.
func (b *Batches) At(step int) []int {
	if pass := step / b.PerPass(); pass != b.pass {
		b.pass = pass
		b.shuffle()
	}
	from := step % b.PerPass() * b.batch
	return b.order[from:min(from+b.batch, len(b.order))]
}

// shuffle draws the order of a pass (Fisher and Yates; Knuth, The Art of Computer Programming 2,
// Algorithm 3.4.2P). The order is public and near enough to uniform: nothing rests on its law.
func (b *Batches) shuffle() {
	copy(b.order, b.indices)
	src := random.Seeded(b.seed*0x9e3779b97f4a7c15 + uint64(b.pass))
	for i := len(b.order) - 1; i > 0; i-- {
		j := int(src.Uint64() % uint64(i+1))
		b.order[i], b.order[j] = b.order[j], b.order[i]
	}
}
