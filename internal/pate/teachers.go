package pate

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"dpsgd/accountant/votes"
	"dpsgd/internal/random"
	"dpsgd/internal/run"
	"dpsgd/internal/setup"
)

// votesFile is the file of the ballots. It is as private as the training examples.
const votesFile = "votes.private.jsonl"

// ballot holds the class that one teacher gives every example of the pool, and its accuracy on the
// other test examples. It is NOT PRIVATE.
type ballot struct {
	Examples string  `json:"examples,omitempty"` // a hash of all, in the order in which they were dealt
	Teacher  int     `json:"teacher"`
	Votes    []uint8 `json:"votes"`
	Accuracy float64 `json:"accuracy"`
}

// readBallots reads the ballots of the teachers that were trained before. It skips lines that a
// kill has torn: those teachers are trained again. So are all where some saw examples in another
// order than that of now: an example that was dealt twice would have two votes.
func (r *Run) readBallots() error {
	lines, err := r.lines(votesFile)
	of := map[string][]*ballot{r.dealt: r.ballots}
	for _, line := range lines {
		var b ballot
		if json.Unmarshal(line, &b) != nil || b.Teacher < 0 || b.Teacher >= r.Plan.Teachers || len(b.Votes) != r.Plan.Pool {
			continue
		}
		if of[b.Examples] == nil {
			of[b.Examples] = make([]*ballot, r.Plan.Teachers)
		}
		of[b.Examples][b.Teacher] = &b
		if !slices.Contains(of[b.Examples], nil) {
			r.ballots = of[b.Examples]
			break
		}
	}
	return err
}

// partition deals the indices of n examples to teachers: every index to one teacher, in parts that
// differ in size by at most 1. It depends on public numbers alone, so an example whose place is
// empty changes one part and no other.
func partition(n, teachers int, seed uint64) [][]int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	random.Seeded(seed).Reorder(order)
	parts := make([][]int, teachers)
	for k := range parts {
		parts[k] = order[k*n/teachers : (k+1)*n/teachers]
	}
	return parts
}

// teach trains the teachers that have no ballot, and begins the account of what the votes cost,
// with the questions that were asked before.
func (r *Run) teach(ctx context.Context) error {
	if err := r.teachAll(ctx); err != nil {
		return err
	}
	r.dependent = r.Plan.Aggregation.NewAccount()
	r.dependent.AddLost(r.Plan.lost.Checks, r.Plan.lost.Answers)
	for question, answered := range r.answers.asked {
		r.dependent.Add(votes.Question{Votes: r.counts(question), Answered: answered})
	}
	return nil
}

// teachAll trains several teachers at a time, each on one thread: a small network on a few hundred
// examples gains nothing from more.
func (r *Run) teachAll(ctx context.Context) error {
	var todo []int
	for k, b := range r.ballots {
		if b == nil {
			todo = append(todo, k)
		}
	}
	return run.SideBySide(ctx, min(cmp.Or(r.options.Threads, setup.Threads(r.Config)), len(todo)), todo, r.teachSome)
}

// teachSome trains the teachers whose numbers next gives, one by one, and keeps their ballots.
func (r *Run) teachSome(ctx context.Context, next <-chan int) error {
	n, err := newNetwork(r.Plan, r.Source.Shape, r.Source.Classes, r.Examples.Train, r.pool, r.rest, nil)
	if err != nil {
		return err
	}
	for k := range next {
		if err := n.train(ctx, r.parts[k], r.Config.Training.Seed+uint64(k)); err != nil {
			return err
		}
		opinions, err := n.predict()
		if err != nil {
			return err
		}
		b := &ballot{Examples: r.dealt, Teacher: k}
		b.Votes, _ = decide(r.graph.spread(opinions, r.Source.Classes, keepVotes), r.Source.Classes)
		measured, err := n.rest.Run()
		if err != nil {
			return err
		}
		b.Accuracy = float64(measured.TestAccuracy)
		if err := r.keep(b); err != nil {
			return err
		}
	}
	return nil
}

// keep stores a ballot, and tells the watcher.
func (r *Run) keep(b *ballot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.WriteLine(votesFile, b, nil); err != nil {
		return err
	}
	r.ballots[b.Teacher] = b
	done := 0
	for _, b := range r.ballots {
		if b != nil {
			done++
		}
	}
	run.Tell(r.options.Progress, Progress{Stage: "teachers", Done: done, Total: r.Plan.Teachers})
	return nil
}

// counts returns how many teachers vote for each class on one example of the pool. The numbers are
// NOT PRIVATE.
func (r *Run) counts(question int) []int {
	counts := make([]int, r.Source.Classes)
	for _, b := range r.ballots {
		counts[b.Votes[question]]++
	}
	return counts
}

// of returns the class that each teacher votes for on one example of the pool.
func (r *Run) of(question int) []int {
	votes := make([]int, len(r.ballots))
	for k, b := range r.ballots {
		votes[k] = int(b.Votes[question])
	}
	return votes
}

// teacherAccuracy returns the mean accuracy of the teachers on the test examples outside the pool.
// It is NOT PRIVATE.
func (r *Run) teacherAccuracy() float64 {
	sum := 0.0
	for _, b := range r.ballots {
		sum += b.Accuracy
	}
	return sum / float64(len(r.ballots))
}
