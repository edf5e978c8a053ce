package pate

import (
	"context"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/gradients"
	"dpsgd/internal/kernel"
	"dpsgd/internal/run"
	"dpsgd/internal/score"
	"dpsgd/internal/setup"
	"dpsgd/internal/sgd"
	"dpsgd/internal/statement"
	"dpsgd/model"
)

// study trains the student: first on the answers and what the graph makes of them for other
// pictures, then, in each round of self-training, on the pictures whose labels it predicts itself.
// It sees public pictures and answers alone. A student that has a statement stays as it is.
func (r *Run) study(ctx context.Context) error {
	lines, damaged := run.ReadMetrics(r.Dir)
	if s, err := statement.Read(r.Dir); err == nil && damaged == nil && s.LedgerHead == r.Books.Hash() && len(lines) > 0 && folder.HoldsAny(r.Dir, folder.Model) {
		last := lines[len(lines)-1]
		r.Step, r.evaluation.Test, r.learnt = last.Step, last.Test, true
		return nil
	}
	r.OpenMetrics() // at step 0: a student that was stopped learns from the beginning, and its last lines count
	n, err := newNetwork(r.Plan, r.Source.Shape, r.Source.Classes, r.pool, r.pool, r.rest, r.Pool)
	if err != nil {
		return err
	}
	r.student = n
	labels, learnt := r.lessons()
	rounds := r.Config.Pate.SelfTraining
	for round := 0; ; round++ {
		n.trainer.Learn(labels)
		if err := n.train(ctx, learnt, r.Config.Training.Seed+uint64(r.Plan.Teachers+round)); err != nil {
			return err
		}
		if r.evaluation, err = n.rest.Run(); err != nil {
			return err
		}
		if err := r.writeMetrics(round); err != nil {
			return err
		}
		if err := r.progress("student", round+1, rounds+1); err != nil {
			return err
		}
		if r.learnt = round == rounds; r.learnt {
			return nil
		}
		if learnt, err = n.agreed(labels, learnt); err != nil {
			return err
		}
	}
}

// lessons returns the label that the answers give every picture of the pool along the graph, and
// the pictures that get one. An answer that its neighbours contradict is outvoted.
func (r *Run) lessons() (labels []int32, learnt []int) {
	classes := r.Source.Classes
	given, times := make([]float64, r.Plan.Pool*classes), make([]float64, classes)
	for _, class := range r.answers.class {
		times[class]++
	}
	for question, class := range r.answers.class {
		given[question*classes+class] = 1 / times[class] // all classes weigh the same
	}
	said, confidence := decide(r.graph.spread(given, classes, keepAnswers), classes)
	labels = make([]int32, len(said))
	for i, class := range said {
		labels[i] = int32(class)
		if confidence[i] > 0 {
			learnt = append(learnt, i)
		}
	}
	return labels, learnt
}

// agreed returns the examples of learnt whose labels the network predicts; all of learnt if there
// are none.
func (n *network) agreed(labels []int32, learnt []int) ([]int, error) {
	opinions, err := n.predict()
	if err != nil {
		return nil, err
	}
	said, _ := decide(opinions, len(opinions)/len(labels))
	var same []int
	for _, i := range learnt {
		if int32(said[i]) == labels[i] {
			same = append(same, i)
		}
	}
	if len(same) == 0 {
		return learnt, nil
	}
	return same, nil
}

// network is a model that is trained from its start again and again: for each teacher, and for each
// round of the student.
type network struct {
	plan    *Plan
	model   *model.Model
	start   []float32
	begin   run.Beginning
	trainer *sgd.Trainer
	pool    *gradients.Evaluator // predicts the public pool
	rest    *gradients.Evaluator // measures the network on the other test examples
}

// newNetwork returns a network that can be trained on examples of train, predicts the pool, and is
// measured on rest, the other test examples.
func newNetwork(p *Plan, shape data.Shape, classes int, train, pool, rest data.Set, threads *kernel.Pool) (*network, error) {
	c := p.config
	m, err := setup.Model(c, shape, classes)
	if err != nil {
		return nil, err
	}
	n := &network{plan: p, model: m, start: slices.Clone(m.Values), begin: run.BeginningOf(m)}
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

// train trains the network from its start on the examples with these indices, shuffled by seed.
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

// predict returns the probability of each class for every example of the pool, a row for each. It
// uses no labels.
func (n *network) predict() ([]float64, error) {
	var all []float64
	err := n.pool.Each(func(_ int, p gradients.Prediction) {
		all = append(all, score.Softmax(p.Outputs)...)
	})
	return all, err
}
