package release

import (
	"errors"
	"fmt"

	"dpsgd/accountant"
	"dpsgd/clip"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
)

// Contributor computes what records contribute to a release. It is not trusted with the bound, only
// with isolation: a contribution depends on its own record and on earlier releases, on no other
// record.
type Contributor interface {
	// Capacity returns the number of records that it takes at a time, at least 1.
	Capacity() int
	// Contributions returns the contributions of the records with these indices, at most Capacity
	// of them, in their order. The batch is used before the next call and not kept.
	Contributions(indices []int) (clip.Batch, error)
}

// Journal keeps the events of releases.
type Journal interface {
	// Begin starts to write the event of update number step, counted from 1. durable waits for the
	// end, and is called once: when it has returned nil, the event survives a kill and a power
	// loss.
	Begin(step int, e accountant.Event) (durable func() error)
	// Ledger returns all events that are durable.
	Ledger() *accountant.Ledger
}

// Budget reports whether the next event, after the spent events in a ledger, stays within what may
// be spent. nil allows everything.
type Budget func(spent *accountant.Ledger, next accountant.Event) (bool, error)

// Door releases sums of contributions under one plan. It is not safe for concurrent use.
type Door struct {
	plan    Plan
	journal Journal
	budget  Budget
	ranks   Ranks // nil where this process is alone
	lost    int   // see Lost

	sampling *random.Source // of samples alone
	noise    *random.Source // of noise alone
	sample   []int          // secret
	sum      *clip.Sum      // secret
}

// NewDoor returns the door for vectors of dim coordinates. Sums are taken on the threads of pool;
// nil is the caller's thread alone.
func NewDoor(p Plan, dim int, j Journal, b Budget, pool *kernel.Pool) (*Door, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	sum, err := clip.NewSum(p.Policy, dim, pool)
	if err != nil {
		return nil, err
	}
	sum.Refine(p.Room())
	return &Door{plan: p, journal: j, budget: b, sampling: random.New(), noise: random.New(), sum: sum}, nil
}

// Release makes the release of update number step, counted from 0: it samples records, records the
// event, adds up their bounded contributions, and hands the sum with its noise to consume, block by
// block, from several goroutines.
//
// After an error nothing was handed out; the event may be in the journal nevertheless, which
// overstates what was spent. An error that wraps [ErrBudget] comes before anything was done.
func (d *Door) Release(step int, source Contributor, consume func(Noisy)) error {
	number := step + d.lost // of the release in the plan
	event, spent := d.plan.Event(number), d.journal.Ledger()
	turn, last := spent.Turns()
	if err := sameInEpoch(d.plan.Sampler, turn, last, event); err != nil {
		return err
	}
	if err := d.afford(spent, event); err != nil {
		return err
	}
	d.sample = At(d.plan.Sampler, turn).Sample(d.sample, d.plan.Records, d.sampling)
	if m, ok := d.plan.Mechanism.(Remembering); ok {
		m.Follow(turn)
	}
	// The disk works while the contributions are computed; the noise waits for both. A release that
	// fails in between leaves an event of which nothing left, and never the opposite.
	durable := d.journal.Begin(step+1, event)
	err := d.add(step, source)
	if err := errors.Join(durable(), err); err != nil {
		return err
	}
	return d.plan.Mechanism.Privatize(number, d.sum, d.noise, consume)
}

// Lost tells how many releases were made for updates that were lost in a kill. Later ones follow
// them in the plan: whoever kills a run does not choose which noise comes how often.
func (d *Door) Lost(n int) { d.lost = n }

// afford returns an error unless the budget allows next after what is spent.
func (d *Door) afford(spent *accountant.Ledger, next accountant.Event) error {
	if d.budget == nil {
		return nil
	}
	within, err := d.budget(spent, next)
	if err == nil && !within {
		err = fmt.Errorf("release: %w", ErrBudget)
	}
	return err
}

// add sets the sum to the contributions of the sample, computed here or by all ranks.
func (d *Door) add(step int, source Contributor) error {
	if d.ranks == nil {
		return AddUp(d.sum, d.sample, source)
	}
	if err := d.ranks.Share(step, d.sample); err != nil {
		return err
	}
	return AddPart(d.sum, d.sample, source, d.ranks)
}

// AddUp empties sum and adds the contributions of these records, as many at a time as the source
// takes. Every record is added once.
func AddUp(sum *clip.Sum, sample []int, source Contributor) error {
	sum.Reset()
	for rest := sample; len(rest) > 0; {
		n := min(len(rest), max(source.Capacity(), 1))
		batch, err := source.Contributions(rest[:n])
		if err != nil {
			return err
		}
		if err := sum.Add(batch, n); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}
