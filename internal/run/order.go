package run

import (
	"dpsgd/accountant"
	"dpsgd/release"
)

// Order is the journal that a run gives to its door. It writes an event only when the checkpoint
// before it is durable. Only one goroutine may call its methods; writing happens in others.
type Order struct {
	journal release.Journal
	pending *checkpoint // nil when nothing is being written
}

var _ release.Journal = (*Order)(nil)

// A checkpoint is one that is being written, and the outcome of that.
type checkpoint struct {
	done   chan struct{} // closed behind err
	err    error
	settle func(error) error
}

// NewOrder returns the order that writes events to j. j is nil for a run that releases nothing.
func NewOrder(j release.Journal) *Order { return &Order{journal: j} }

// Save waits for the checkpoint before, begins to write another, and returns. The caller must not
// change what write reads until the checkpoint is waited for, in [Order.Wait] or for an event. That
// wait calls settle with write's error: settle may repair and retry, and its error is the outcome.
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

// Pending reports whether a checkpoint was begun that nobody has waited for.
func (o *Order) Pending() bool { return o.pending != nil }

// Wait waits for the pending checkpoint, if any, and returns the error of the settle that Save got.
func (o *Order) Wait() error {
	c := o.pending
	if c == nil {
		return nil
	}
	<-c.done
	o.pending = nil
	return c.settle(c.err)
}

// Close waits until the pending checkpoint is written, without settling it: the run has ended.
func (o *Order) Close() {
	if o.pending != nil {
		<-o.pending.done
		o.pending = nil
	}
}

// Begin implements [release.Journal]. It begins the event when the pending checkpoint is durable.
// If the checkpoint failed, durable settles it and then begins the event. If it cannot be settled,
// durable returns the error, the event is never begun, and there is no release.
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
