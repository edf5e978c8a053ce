package accountant

import "fmt"

// CyclicSampled is Event applied to one of Blocks disjoint blocks of the records, which take turns.
// The block of a record follows from its place, by a public rule that never changes.
//
// An entry of a ledger with count n stands for n turns in a row, where anything else may come
// between two turns. No block has more than ⌈n/Blocks⌉ of them. A record takes part in the turns of
// its own block alone. The outputs of the other turns have the same law without it, given what was
// released before. So n turns cost ⌈n/Blocks⌉ times Event (parallel composition over the blocks;
// Choquette-Choo et al., arXiv:2306.08153, Theorem 4).
// Turns of different entries, runs or compositions need not follow each other: their costs add up.
type CyclicSampled struct {
	Blocks int   // at least 1
	Event  Event // what a record of the block whose turn it is takes part in
}

func (e CyclicSampled) String() string {
	return fmt.Sprintf("CyclicSampled(%d blocks, %v)", e.Blocks, e.Event)
}

// worst returns the releases, of count turns in a row, of the block that has most of them.
func (e CyclicSampled) worst(count int) Entry {
	return Entry{e.Event, count/e.Blocks + min(count%e.Blocks, 1)}
}

func (e CyclicSampled) simplest() (Event, error)   { return e.Event.simplest() }
func (e CyclicSampled) sampled() Event             { return e.Event }
func (e CyclicSampled) holding(inside Event) Event { e.Event = inside; return e }

// seenBy refuses groups: their records may be in different blocks, or all in one.
func (e CyclicSampled) seenBy(size int) (Event, error) { return noGroups(e, size) }

func (e *CyclicSampled) parameters() []parameter {
	return []parameter{within("blocks", &e.Blocks, atLeast(1)), inside(&e.Event)}
}

// begun returns 0: of n turns in a row no block has more than ⌈n/Blocks⌉, wherever they begin.
func (CyclicSampled) begun(int) int { return 0 }

// inTurn is an event of which a record sees only some of those that follow each other in one entry
// of a ledger.
type inTurn interface {
	// worst returns what the worst-off record sees of count turns, the first of which begins a round.
	worst(count int) Entry
	// begun returns how many of the turns before an entry belong to a round that goes on in it.
	begun(turns int) int
}

// ofOneRecord returns the releases of the entry that the worst-off record sees.
func (e Entry) ofOneRecord() Entry {
	if turns, ok := e.Event.(inTurn); ok {
		return turns.worst(e.Count)
	}
	return e
}

// inRounds returns the entries, with counts from the beginning of the round in which each began. So a
// round whose event changes counts for each of its events.
func (l *Ledger) inRounds() []Entry {
	entries, turns := l.Entries(), 0
	for i, entry := range l.entries {
		if e, ok := entry.Event.(inTurn); ok {
			entries[i].Count += e.begun(turns) // at most all turns of the ledger
			turns += entry.Count
		}
	}
	return entries
}

// Turns counts the releases in the ledger of which records take turns. It is the turn of the next.
// last is the event of the last one, nil where there is none.
func (l *Ledger) Turns() (n int, last Event) {
	for _, entry := range l.entries {
		if _, ok := entry.Event.(inTurn); ok {
			n, last = n+entry.Count, entry.Event
		}
	}
	return n, last
}

// Join appends the releases of another run on the same data. Turns of two runs do not follow each
// other, so each entry with turns becomes one composition.
func (l *Ledger) Join(other *Ledger) error {
	for _, entry := range other.inRounds() {
		if _, ok := entry.Event.(inTurn); ok {
			entry = Entry{SelfComposed(entry), 1}
		}
		if err := l.Add(entry.Event, entry.Count); err != nil {
			return err
		}
	}
	return nil
}
