package accountant

import (
	"fmt"
	"math"
	"slices"
)

// Entry is an event of a ledger and how many times in a row it happened.
type Entry struct {
	Event Event
	Count int // at least 1 in a ledger
}

// Ledger lists the releases of a run: its events in order, equal neighbours counted together, so a
// run with a fixed plan takes one entry however long it is. The zero value is an empty ledger. It
// may be read by several goroutines, but not while another one adds to it.
type Ledger struct {
	entries []Entry
	count   int // sum of the entries' counts
}

// Add appends count ≥ 0 releases of e, which must validate. After an error the ledger is as it was.
func (l *Ledger) Add(e Event, count int) error {
	if err := Validate(e); err != nil || count == 0 {
		return err
	}
	if count < 0 {
		return fmt.Errorf("%w: count of %v is %d, must be at least 0", ErrInvalid, e, count)
	}
	if count > math.MaxInt-l.count {
		return fmt.Errorf("%w: %d more events would overflow the count of %d", ErrInvalid, count, l.count)
	}
	l.count += count
	if last := len(l.entries) - 1; last >= 0 && l.entries[last].Event == e {
		l.entries[last].Count += count
		return nil
	}
	l.entries = append(l.entries, Entry{Event: e, Count: count})
	return nil
}

// Entries returns a copy of the entries, in order.
func (l *Ledger) Entries() []Entry { return slices.Clone(l.entries) }

// Count returns the number of events, over all entries.
func (l *Ledger) Count() int { return l.count }

// Clone returns an independent copy of the ledger.
func (l *Ledger) Clone() *Ledger { return &Ledger{slices.Clone(l.entries), l.count} }

// With returns a copy of the ledger with count more releases of e, to ask what they would cost.
func (l *Ledger) With(e Event, count int) (*Ledger, error) {
	next := l.Clone()
	if err := next.Add(e, count); err != nil {
		return nil, err
	}
	return next, nil
}
