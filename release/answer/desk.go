package answer

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/internal/random"
	"dpsgd/release"
)

// Desk answers questions about private data: it asks its budget, and has each event in its journal
// before an answer leaves. It is not safe for concurrent use.
type Desk struct {
	journal release.Journal
	budget  release.Budget
}

// NewDesk returns a desk that writes its events to a journal and stays within a budget; a nil
// budget allows everything.
func NewDesk(j release.Journal, b release.Budget) *Desk { return &Desk{j, b} }

// Question is a question to which the answer is an A. Only the functions of this package make one
// that can be asked, and they have bounded what a record can do to the answer. It holds what was
// computed from private data. (It is a struct, since an interface with an unexported method can be
// embedded together with another Event.)
type Question[A any] struct {
	event accountant.Event
	draw  func(src *random.Source) A // draws anew with every call
}

// ask returns the question that has this event and whose answers the function draw makes. Where err
// is not nil, it returns err alone: the question's parameters were refused.
func ask[A any](err error, event accountant.Event, draw func(src *random.Source) A) (Question[A], error) {
	if err != nil {
		return Question[A]{}, err
	}
	return Question[A]{event, draw}, nil
}

// Event describes one answer to an accountant. It depends on public parameters alone.
func (q Question[A]) Event() accountant.Event { return q.event }

// Ask returns an answer, which may be published: it writes the event and, when that is durable,
// draws the noise.
//
// After an error there is no answer; the event may be in the journal nevertheless, which overstates
// what was spent. An error that wraps [release.ErrBudget] comes before anything was done.
func Ask[A any](d *Desk, q Question[A]) (A, error) {
	if err := d.Pay(q.event); err != nil {
		var none A
		return none, err
	}
	return q.draw(random.New()), nil
}

// Pay writes an event that the budget allows and waits until it is durable, ahead of what it
// accounts for: an answer of [Ask], or reports that are private by themselves (package local).
func (d *Desk) Pay(event accountant.Event) error {
	if err := accountant.Validate(event); err != nil {
		return err
	}
	spent := d.journal.Ledger()
	if d.budget != nil {
		within, err := d.budget(spent, event)
		if err == nil && !within {
			err = fmt.Errorf("answer: %w", release.ErrBudget)
		}
		if err != nil {
			return err
		}
	}
	return d.journal.Begin(spent.Count()+1, event)()
}
