package pate

import "context"

// study trains the student. First it learns the answers, and what follows from them for the pictures
// that are like the answered ones; then, in each round of self-training, those of the pool of which
// it says itself what it was taught. Everything that it sees is public: pictures of the pool, and
// answers.
func (r *Run) study(ctx context.Context) error {
	r.Step = 0 // a student that was stopped learns from the beginning, and its last lines count
	r.OpenMetrics()
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

// lessons returns what the answers say of every picture of the pool, along the graph, and of which
// pictures they say something. An answer that its neighbours contradict is no lesson.
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

// agreed returns those of the examples that the network takes for what it was taught; all of them
// where it learnt nothing.
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
