package sgd

import (
	"context"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/setup"
	"dpsgd/model"
	"dpsgd/optimizer"
)

// Trainer takes steps of minibatch SGD without clipping and without noise, on the kernels of
// private training. The parameters are NOT PRIVATE with respect to the examples that it sees. It is
// not safe for concurrent use.
type Trainer struct {
	*gradients.Sums  // of the examples' gradients, for the labels that they learn
	*optimizer.Plain // the update rule
	// Ready is waited for, with the gradient at hand, before parameters change; nil for nothing.
	Ready  func() error
	values []float32
}

// NewTrainer returns a trainer of the model m by an update rule, on the examples of a set as the
// network sees them. shape is the shape of one example of the data. A step takes batch examples at
// most. With a nil pool it computes on the caller's thread alone.
func NewTrainer(c *configs.Config, m *model.Model, set data.Set, shape data.Shape, rule optimizer.UpdateRule, batch int, pool *kernel.Pool) (*Trainer, error) {
	batcher, err := data.NewBatcher(set, setup.Normalisation(c, shape.Channels))
	if err != nil {
		return nil, err
	}
	views, err := setup.Views(c, shape)
	if err != nil {
		return nil, err
	}
	t := &Trainer{values: m.Values}
	if t.Sums, err = gradients.NewSums(m, batcher, views, min(c.Training.PhysicalBatchSize, batch), pool); err != nil {
		return nil, err
	}
	t.Plain, err = optimizer.NewPlain(rule, len(m.Values), pool)
	return t, err
}

// Step moves the parameters by one step of the given learning rate with the mean gradient of the
// examples with these indices, at least one of them. step is its number, counted from 0.
func (t *Trainer) Step(indices []int, step int, rate float64) error {
	sum, err := t.AtStep(step).Of(indices)
	if err == nil && t.Ready != nil {
		err = t.Ready()
	}
	if err != nil {
		return err
	}
	return t.Apply(t.values, sum, float64(len(indices)), rate)
}

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
// each pass, shuffled anew for each by a public seed. The last examples of a pass that make no
// whole batch wait for a later one. This is no sampling that an accountant knows.
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

// At returns the batch of a step, counted from 0, which lasts until the next call. A run that goes
// on at a step finds the batch that it would have found.
func (b *Batches) At(step int) []int {
	if pass := step / b.PerPass(); pass != b.pass {
		b.pass = pass
		copy(b.order, b.indices)
		random.Seeded(b.seed*0x9e3779b97f4a7c15 + uint64(pass)).Reorder(b.order)
	}
	from := step % b.PerPass() * b.batch
	return b.order[from:min(from+b.batch, len(b.order))]
}
