package run

import (
	"dpsgd/accountant"
	"dpsgd/release"
)

// Order is the journal of a run for its door. It holds every event back until the checkpoint ahead
// of it is durable. It serves one goroutine, but for what is written.
type Order struct {
	journal release.Journal
	pending *checkpoint // nil when nothing is being written
}

var _ release.Journal = (*Order)(nil)

// A checkpoint is one that is being written.
type checkpoint struct {
	done   chan struct{} // closed behind err
	err    error
	settle func(error) error
}

// NewOrder returns the order of a run with this journal, or, where steps are no releases, with nil.
func NewOrder(j release.Journal) *Order { return &Order{journal: j} }

// Save begins to write a checkpoint and returns. Until it has been waited for, nothing changes what
// write reads. Whoever waits for it first, in [Order.Wait] or for an event, calls settle with what
// write returned: it may mend what went wrong and take its time, and its own error is the outcome.
func (o *Order) Save(write func() error, settle func(error) error) error {
	if err := o.Wait(); err != nil {
		return err
	}
	c := &checkpoint{done: make(chan struct{}), settle: settle}
	o.pending = c
	go func() {
		defer close(c.done)
		c.err = write()
	}()
	return nil
}

// Pending reports whether a checkpoint is on its way that nobody has waited for.
func (o *Order) Pending() bool { return o.pending != nil }

// Wait returns when nothing is being written, with the outcome of what was.
func (o *Order) Wait() error {
	c := o.pending
	if c == nil {
		return nil
	}
	<-c.done
	o.pending = nil
	return c.settle(c.err)
}

// Close is Wait without settling, for a run that goes no further.
func (o *Order) Close() {
	if o.pending != nil {
		<-o.pending.done
		o.pending = nil
	}
}

// Begin implements [release.Journal]. The event is begun when the checkpoint ahead of it is
// durable. If that failed, the event waits for durable to settle it, and is never begun if it
// cannot be: durable then returns the error, and there is no release.
func (o *Order) Begin(step int, e accountant.Event) (durable func() error) {
	c := o.pending
	if c == nil {
		return o.journal.Begin(step, e)
	}
	event := make(chan error, 1)
	go func() {
		if <-c.done; c.err == nil {
			event <- o.journal.Begin(step, e)()
		}
	}()
	return func() error {
		if err := o.Wait(); err != nil {
			return err
		}
		if c.err != nil { // and somebody has mended it
			return o.journal.Begin(step, e)()
		}
		return <-event
	}
}

// Ledger implements [release.Journal].
func (o *Order) Ledger() *accountant.Ledger { return o.journal.Ledger() }
