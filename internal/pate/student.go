package pate

import (
	"context"
	"slices"

	"dpsgd/internal/kernel"
)

// study trains the student: on the answered examples of the pool, and then, in each round, on these and
// on what it is surest of among the others (self-training). Everything that it sees is public: pictures
// of the pool, and answers.
func (r *Run) study(ctx context.Context, threads *kernel.Pool) error {
	n, err := newNetwork(r.plan, r.source.Shape, r.source.Classes, r.pool, r.pool, r.rest, threads)
	if err != nil {
		return err
	}
	r.student = n
	labels := make([]int32, r.plan.Pool)
	var learnt []int
	for question, class := range r.answers.class {
		labels[question] = int32(class)
		learnt = append(learnt, question)
	}
	slices.Sort(learnt)
	answered := len(learnt)
	rounds := r.config.Pate.SelfTraining
	for round := 0; ; round++ {
		n.trainer.Show(n.batcher, labels)
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
		classes, confidence, err := n.predict()
		if err != nil {
			return err
		}
		learnt = learnt[:answered]
		for _, i := range surest(classes, confidence, r.answers.class, r.source.Classes, float64(round+1)/float64(rounds)) {
			labels[i] = int32(classes[i])
			learnt = append(learnt, i)
		}
	}
}

// surest are the examples without an answer that a network is surest of: a share of those that it
// takes for each class, so that easy classes do not crowd out the others.
func surest(classes []uint8, confidence []float64, answered map[int]int, count int, share float64) []int {
	of := make([][]int, count)
	for i, class := range classes {
		if _, known := answered[i]; !known {
			of[class] = append(of[class], i)
		}
	}
	var chosen []int
	for _, list := range of {
		slices.SortStableFunc(list, func(a, b int) int {
			switch {
			case confidence[a] > confidence[b]:
				return -1
			case confidence[a] < confidence[b]:
				return 1
			}
			return 0
		})
		chosen = append(chosen, list[:int(share*float64(len(list))+0.5)]...)
	}
	return chosen
}
