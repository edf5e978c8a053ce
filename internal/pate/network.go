package pate

import (
	"context"
	"math"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/model"
)

// network is a model that is trained from its start again and again: each teacher, and the student in
// each round.
type network struct {
	plan    *Plan
	model   *model.Model
	start   []float32
	trainer *sgd.Trainer
	pool    *gradients.Evaluator // predicts the public pool
	rest    *gradients.Evaluator // measures
}

// newNetwork compiles training on a set, and prediction of the pool and of the rest of the test
// examples.
func newNetwork(p *Plan, shape data.Shape, classes int, train, pool, rest data.Set, threads *kernel.Pool) (*network, error) {
	c := p.config
	m, err := setup.Model(c, shape, classes)
	if err != nil {
		return nil, err
	}
	n := &network{plan: p, model: m, start: slices.Clone(m.Values)}
	if n.trainer, err = sgd.NewTrainer(c, m, train, shape, c.Optimizer.Rule, min(c.Training.BatchSize, train.Len()), threads); err != nil {
		return nil, err
	}
	normalisation := setup.Normalisation(c, shape.Channels)
	if n.pool, err = gradients.NewEvaluator(m, pool, normalisation, threads); err != nil {
		return nil, err
	}
	n.rest, err = gradients.NewEvaluator(m, rest, normalisation, threads)
	return n, err
}

// train learns the examples with these indices from the start.
func (n *network) train(ctx context.Context, indices []int, seed uint64) error {
	copy(n.model.Values, n.start)
	n.trainer.Forget()
	c := n.plan.config
	steps := setup.Steps(c.Training, float64(min(len(indices), c.Training.BatchSize)), len(indices))
	schedule := setup.Schedule(c, steps)
	schedule.WarmupSteps = min(schedule.WarmupSteps, steps-1)
	if err := schedule.Check(); err != nil {
		return err
	}
	return n.trainer.Train(ctx, indices, c.Training.BatchSize, steps, schedule.LearningRate, seed)
}

// predict returns the probability of each class for every example of the pool, a row for each.
// Labels and losses of the pool are not looked at.
func (n *network) predict() ([]float64, error) {
	var all []float64
	err := n.pool.Each(func(_ int, p gradients.Prediction) {
		sum := 0.0
		for _, z := range p.Logits {
			sum += math.Exp(float64(z - p.Logits[p.Class]))
		}
		for _, z := range p.Logits {
			all = append(all, math.Exp(float64(z-p.Logits[p.Class]))/sum)
		}
	})
	return all, err
}
