package pate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"dpsgd/accountant"
	"dpsgd/accountant/votes"
	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// answersFile is the file of the answers. It stays private, also when all is paid for.
const answersFile = "answers.private.jsonl"

// record is a line of the file of answers: a question that was asked, the end of asking, or the
// released divergence.
type record struct {
	Question *int     `json:"question,omitempty"`
	Answered bool     `json:"answered,omitempty"`
	Class    int      `json:"class,omitempty"`
	Ended    *tally   `json:"ended,omitempty"` // what the ledger holds when all is paid for
	Lost     tally    `json:"lost,omitzero"`   // at the end: events without a result
	Released *float64 `json:"released,omitempty"`
}

// answers holds the questions that were asked so far, and what was released.
type answers struct {
	asked    []bool // whether each question that was asked, in order, was answered
	class    map[int]int
	ended    *record
	released *float64
}

// add adds what r, a line of the file of answers, says.
func (a *answers) add(r record) {
	switch {
	case r.Question != nil:
		a.asked = append(a.asked, r.Answered)
		if r.Answered {
			a.class[*r.Question] = r.Class
		}
	case r.Ended != nil:
		a.ended = &r
	case r.Released != nil:
		a.released = r.Released
	}
}

// readAnswers reads the file of answers into r.answers. If a kill has torn the last line, the
// result of that question is lost. A line out of order is an error: checkpoints.ErrCorrupt.
func (r *Run) readAnswers() error {
	lines, err := r.lines(answersFile)
	for _, line := range lines {
		var found record
		if json.Unmarshal(line, &found) != nil {
			continue
		}
		if q := found.Question; q != nil && (*q != len(r.answers.asked) || *q >= r.Plan.Queries || found.Class < 0 || found.Class >= r.Source.Classes) {
			return fmt.Errorf("train: %s: found question %d behind %d others, expected the next: %w", r.Path(answersFile), *q, len(r.answers.asked), checkpoints.ErrCorrupt)
		}
		r.answers.add(found)
	}
	return err
}

// settle compares the answers with the ledger. Events without an answer are lost, and the rest is
// planned again. Answers without an event are an error: checkpoints.ErrRollback.
func (r *Run) settle() error {
	in, done := r.Plan.count(r.Books.Ledger()), tally{Answers: len(r.answers.class)}
	if r.Plan.check != nil {
		done.Checks = len(r.answers.asked)
	}
	if ended := r.answers.ended; ended != nil { // nothing is asked any more
		r.Plan.lost = ended.Lost
		r.Plan.lost.Releases = max(0, in.Releases-1)
		r.Plan.Queries, r.Plan.Answers = ended.Ended.Checks-ended.Lost.Checks, ended.Ended.Answers-ended.Lost.Answers
		return nil
	}
	lost := tally{Checks: in.Checks - done.Checks, Answers: in.Answers - done.Answers, Releases: in.Releases}
	if lost.Checks < 0 || lost.Answers < 0 {
		return fmt.Errorf("train: %s: found %d answers, expected at most the %d of %s: %w", r.Path(answersFile), done.Answers, in.Answers, r.Dir, checkpoints.ErrRollback)
	}
	return r.Plan.goOn(lost, done)
}

func (r *Run) keepRecord(line record) error {
	if err := r.WriteLine(answersFile, line, nil); err != nil {
		return err
	}
	r.answers.add(line)
	return nil
}

// asks reports whether there is a next question: neither all questions are asked nor all answers
// given that the budget allows.
func (r *Run) asks() bool {
	return r.answers.ended == nil && len(r.answers.asked) < r.Plan.Queries && len(r.answers.class) < r.Plan.Answers
}

// askNext asks one question, first whether enough teachers agree, then for the class, and keeps the
// result.
func (r *Run) askNext() error {
	question := len(r.answers.asked)
	found := record{Question: &question, Answered: true}
	v, err := answer.NewVotes(r.of(question), r.Source.Classes)
	if err != nil {
		return err
	}
	if r.Plan.check != nil {
		check, err := r.Plan.agreement(v)
		if err != nil {
			return err
		}
		if found.Answered, err = answer.Ask(r.desk, check); err != nil {
			return err
		}
	}
	if found.Answered {
		q, err := r.Plan.question(v)
		if err != nil {
			return err
		}
		if found.Class, err = answer.Ask(r.desk, q); err != nil {
			return err
		}
	}
	if err := r.keepRecord(found); err != nil {
		return err
	}
	r.dependent.Add(votes.Question{Votes: r.counts(question), Answered: found.Answered})
	return r.progress("questions", question+1, r.Plan.Queries)
}

// pay appends to the ledger the planned checks and answers that were not asked for: their number
// depends on the votes.
func (r *Run) pay() error {
	if r.answers.ended == nil {
		ended := &tally{Checks: r.Plan.Queries + r.Plan.lost.Checks, Answers: r.Plan.Answers + r.Plan.lost.Answers}
		if err := r.keepRecord(record{Ended: ended, Lost: r.Plan.lost}); err != nil {
			return err
		}
	}
	in := r.Plan.count(r.Books.Ledger())
	for _, due := range []struct {
		event accountant.Event
		n     int
	}{{r.Plan.check, r.answers.ended.Ended.Checks - in.Checks}, {r.Plan.answer, r.answers.ended.Ended.Answers - in.Answers}} {
		for i := 0; due.event != nil && i < due.n; i++ {
			if err := r.Books.Append(r.Books.Len()+1, due.event); err != nil {
				return err
			}
		}
	}
	return nil
}

// releaseDependent releases the data-dependent divergence, if that is configured. There is no
// second release if a kill has lost the first.
func (r *Run) releaseDependent() error {
	if r.Plan.Release == nil || r.answers.released != nil {
		return nil
	}
	var all []*answer.Votes
	for question := range r.answers.asked {
		v, err := answer.NewVotes(r.of(question), r.Source.Classes)
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	q, err := answer.DataDependent(r.Plan.Aggregation, all, r.answers.asked, *r.Plan.Release)
	if err != nil {
		return err
	}
	value, err := answer.Ask(r.desk, q)
	if errors.Is(err, release.ErrBudget) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.keepRecord(record{Released: &value})
}

// lines returns the lines of a file of the run; none where there is no file.
func (r *Run) lines(file string) ([][]byte, error) {
	content, err := folder.Content(r.Path(file))
	return bytes.Split(content, []byte("\n")), err
}
