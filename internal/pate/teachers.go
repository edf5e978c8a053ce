package pate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"dpsgd/accountant/votes"
	"dpsgd/internal/setup"
)

// votesFile keeps what each teacher says about the pool. It is as private as the training examples.
const votesFile = "votes.private.jsonl"

// ballot is what one teacher says of every example of the pool, and how many examples of the rest it
// is right about. It is NOT PRIVATE.
type ballot struct {
	Teacher  int     `json:"teacher"`
	Votes    []uint8 `json:"votes"`
	Accuracy float64 `json:"accuracy"`
}

// readBallots reads the ballots of the teachers that were trained before. Lines that a kill has torn
// are passed over: those teachers learn again.
func (r *Run) readBallots() error {
	content, err := os.ReadFile(r.Path(votesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, line := range lines(content) {
		var b ballot
		if json.Unmarshal(line, &b) != nil || b.Teacher < 0 || b.Teacher >= r.plan.Teachers || len(b.Votes) != r.plan.Pool {
			continue
		}
		r.ballots[b.Teacher] = &b
	}
	return nil
}

// teach trains the teachers that have no ballot, and begins the account of their votes.
func (r *Run) teach(ctx context.Context) error {
	if err := r.teachAll(ctx); err != nil {
		return err
	}
	r.dependent = r.plan.Aggregation.NewAccount()
	r.dependent.AddLost(r.plan.lost.Checks, r.plan.lost.Answers)
	for question, answered := range r.answers.asked {
		r.dependent.Add(votes.Question{Votes: r.counts(question), Answered: answered})
	}
	return nil
}

// teachAll trains several teachers at a time on a thread each: a small network on a few hundred
// examples gains nothing from more threads.
func (r *Run) teachAll(ctx context.Context) error {
	var todo []int
	for k, b := range r.ballots {
		if b == nil {
			todo = append(todo, k)
		}
	}
	next := make(chan int, len(todo))
	for _, k := range todo {
		next <- k
	}
	close(next)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for range min(cmp.Or(r.options.Threads, setup.Threads(r.Config)), len(todo)) {
		wait.Go(func() {
			if err := r.teachSome(ctx, next); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// teachSome trains teachers one after another until there are none left.
func (r *Run) teachSome(ctx context.Context, next <-chan int) error {
	n, err := newNetwork(r.plan, r.Source.Shape, r.Source.Classes, r.Examples.Train, r.pool, r.rest, nil)
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
		b := &ballot{Teacher: k}
		b.Votes, _ = decide(r.graph.spread(opinions, r.Source.Classes, keepVotes), r.Source.Classes)
		measured, err := n.rest.Run()
		if err != nil {
			return err
		}
		b.Accuracy = measured.Accuracy
		if err := r.keep(b); err != nil {
			return err
		}
	}
	return nil
}

// keep stores a ballot.
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
	r.show(Progress{Stage: "teachers", Done: done, Total: r.plan.Teachers})
	return nil
}

// counts returns the votes for each class on one example of the pool. They are NOT PRIVATE.
func (r *Run) counts(question int) []int {
	counts := make([]int, r.Source.Classes)
	for _, b := range r.ballots {
		counts[b.Votes[question]]++
	}
	return counts
}

// of returns the vote of each teacher on one example of the pool.
func (r *Run) of(question int) []int {
	votes := make([]int, len(r.ballots))
	for k, b := range r.ballots {
		votes[k] = int(b.Votes[question])
	}
	return votes
}

// teacherAccuracy returns the mean of the teachers' on the test examples outside the pool. It is
// NOT PRIVATE.
func (r *Run) teacherAccuracy() float64 {
	sum := 0.0
	for _, b := range r.ballots {
		sum += b.Accuracy
	}
	return sum / float64(len(r.ballots))
}
