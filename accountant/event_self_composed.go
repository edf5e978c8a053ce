package accountant

import "fmt"

// SelfComposed is Count independent releases of Event.
type SelfComposed struct {
	Event Event
	Count int // at least 0
}

func (e SelfComposed) String() string { return fmt.Sprintf("SelfComposed(%d × %v)", e.Count, e.Event) }

func (e SelfComposed) simplest() (Event, error) { return e, nil }

func (e SelfComposed) parts() []Entry { return []Entry{{e.Event, e.Count}} }

func (e SelfComposed) seenBy(size int) (Event, error) {
	part, err := e.Event.seenBy(size)
	return SelfComposed{part, e.Count}, err
}

func (e *SelfComposed) parameters() []parameter {
	return []parameter{inside(&e.Event), within("count", &e.Count, atLeast(0))}
}
