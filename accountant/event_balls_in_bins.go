package accountant

import "fmt"

// BallsInBins is one step of Event, a Gaussian release, in an epoch of Bins steps: at the beginning
// of the epoch each record is put into one of its steps, uniformly, independently of all other
// records and epochs, and takes part in that step alone. Which one it is stays secret. A ledger
// begins an epoch with the first of such events in a row, and a new one after every Bins of them; an
// epoch that was cut short costs as much as a whole one. An epoch whose noise changes costs one epoch
// of each of its events: it is a function of an epoch that has the least of these noises in all
// steps, to which more noise is added. The costs hold for sets with the same number of places, and
// for sets with one place more.
type BallsInBins struct {
	Bins  int // at least 1
	Event Event
}

func (e BallsInBins) String() string { return fmt.Sprintf("BallsInBins(%d, %v)", e.Bins, e.Event) }

func (e BallsInBins) simplest() (Event, error) {
	simplest, err := simplestSample(e, false)
	if all, ok := simplest.(BallsInBins); ok && e.Bins == 1 {
		return all.Event, nil
	}
	return simplest, err
}

// worst returns what count steps in a row cost: e once for each epoch that they begin.
func (e BallsInBins) worst(count int) Entry { return Entry{e, count/e.Bins + min(count%e.Bins, 1)} }

// begun returns the turns of an epoch that is not over: epochs begin where their length divides the
// turns of a ledger.
func (e BallsInBins) begun(turns int) int            { return turns % e.Bins }
func (e BallsInBins) sampled() Event                 { return e.Event }
func (e BallsInBins) holding(inside Event) Event     { e.Event = inside; return e }
func (e BallsInBins) seenBy(size int) (Event, error) { return noGroups(e, size) }

func (e *BallsInBins) parameters() []parameter {
	return []parameter{within("bins", &e.Bins, atLeast(1)), inside(&e.Event)}
}
