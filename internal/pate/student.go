package pate

import (
	"cmp"
	"context"
	"slices"

	"dpsgd/internal/kernel"
)

// sure is the share of the pool that the student learns in a round: of each class those that it is
// surest of.
const sure = 0.85

// study trains the student. In the first round it learns the answers, and what follows from them for the
// pictures that are most like the answered ones; in each round of self-training those of
// which it says the same. Everything that it sees is public: pictures of the pool, and answers.
func (r *Run) study(ctx context.Context, threads *kernel.Pool) error {
	n, err := newNetwork(r.plan, r.source.Shape, r.source.Classes, r.pool, r.pool, r.rest, threads)
	if err != nil {
		return err
	}
	r.student = n
	g, err := newGraph(r)
	if err != nil {
		return err
	}
	classes, confidence := g.spread(r.answers.class, r.source.Classes)
	rounds := r.config.Pate.SelfTraining
	for round := 0; ; round++ {
		labels := make([]int32, r.plan.Pool)
		for i, class := range classes {
			labels[i] = int32(class)
		}
		n.trainer.Show(n.batcher, labels)
		learnt := surest(classes, confidence, r.source.Classes, sure)
		if err := n.train(ctx, learnt, r.config.Training.Seed+uint64(r.plan.Teachers+round)); err != nil {
			return err
		}
		if r.evaluation, err = n.rest.Run(); err != nil {
			return err
		}
		if err := r.writeMetrics(round); err != nil {
			return err
		}
		if err := r.progress("student", round+1, rounds+1); err != nil || round == rounds {
			return err
		}
		predicted, certain, err := n.predict()
		if err != nil {
			return err
		}
		for i, class := range predicted {
			if confidence[i] = certain[i]; class != classes[i] {
				confidence[i] = 0 // of two opinions neither is learnt
			}
		}
	}
}

// surest are the examples whose class is surest: a share of those of each class, so that easy classes do
// not crowd out the others, and none of which nothing is known.
func surest(classes []uint8, confidence []float64, count int, share float64) []int {
	of := make([][]int, count)
	for i, class := range classes {
		if confidence[i] > 0 {
			of[class] = append(of[class], i)
		}
	}
	var chosen []int
	for _, list := range of {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(confidence[b], confidence[a]) })
		chosen = append(chosen, list[:int(share*float64(len(list))+0.5)]...)
	}
	return chosen
}
