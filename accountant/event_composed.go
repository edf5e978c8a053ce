package accountant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Composed is several releases, all of them on the same data; within a sampled event, on
// the same sample. Compose makes one; the zero value is the composition of nothing.
type Composed struct {
	list eventList // the events as MarshalEvent writes them, in a JSON list: comparable by ==
}

// Compose returns the composition of the events, in order. Its error matches ErrInvalid.
func Compose(events ...Event) (Composed, error) {
	for i, e := range events {
		if err := Validate(e); err != nil {
			return Composed{}, fmt.Errorf("composed event %d: %w", i, err)
		}
	}
	c, err := composeUnchecked(events)
	if err == nil {
		err = Validate(c) // of the nesting
	}
	if err != nil {
		return Composed{}, err
	}
	return c, nil
}

// Composed returns the releases of the ledger as one event, which costs what they do.
func (l *Ledger) Composed() (Composed, error) {
	var parts []Event
	for _, entry := range l.inRounds() {
		parts = append(parts, SelfComposed(entry))
	}
	return Compose(parts...)
}

// composeUnchecked writes the events into a composition, without validating them.
func composeUnchecked(events []Event) (Composed, error) {
	if len(events) == 0 {
		return Composed{}, nil
	}
	var list []string
	for i, e := range events {
		data, err := marshalValid(e)
		if err != nil {
			return Composed{}, fmt.Errorf("composed event %d: %w: %w", i, ErrInvalid, err)
		}
		list = append(list, string(data))
	}
	return Composed{list: eventList("[" + strings.Join(list, ",") + "]")}, nil
}

// Events returns the composed events, in order.
func (e Composed) Events() []Event {
	events, err := e.read(0)
	if err != nil {
		panic("accountant: a composition cannot be read back: " + err.Error())
	}
	return events
}

func (e Composed) read(depth int) ([]Event, error) {
	if e.list == "" {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(e.list), &items); err != nil {
		return nil, fmt.Errorf("%w: composition: %w", ErrInvalid, err)
	}
	var events []Event
	for i, item := range items {
		event, err := unmarshalEvent(item, depth+1)
		if err != nil {
			return nil, fmt.Errorf("composed event %d: %w", i, err)
		}
		events = append(events, event)
	}
	return events, nil
}

func (e Composed) String() string {
	var parts []string
	for _, part := range e.Events() {
		parts = append(parts, part.String())
	}
	return "Composed(" + strings.Join(parts, ", ") + ")"
}

func (e Composed) validate(depth int) error {
	events, err := e.read(depth)
	if err != nil {
		return err
	}
	for i, part := range events {
		if err := validate(part, depth+1); err != nil {
			return fmt.Errorf("composed event %d: %w", i, err)
		}
	}
	return nil
}

func (e Composed) simplest() (Event, error) { return e, nil }

func (e Composed) parts() []Entry {
	var parts []Entry
	for _, part := range e.Events() {
		parts = append(parts, Entry{part, 1})
	}
	return parts
}

func (e Composed) seenBy(size int) (Event, error) {
	var parts []Event
	for _, part := range e.Events() {
		seen, err := part.seenBy(size)
		if err != nil {
			return nil, err
		}
		parts = append(parts, seen)
	}
	return Compose(parts...)
}

func (e *Composed) parameters() []parameter { return []parameter{{"events", &e.list, e.validate}} }

// eventList is a list of events in JSON, or empty.
type eventList string

func (l eventList) MarshalJSON() ([]byte, error) {
	if l == "" {
		return []byte("[]"), nil
	}
	return []byte(l), nil
}

// decode sets l to the list under key, written anew, so that equal lists are equal by ==.
func (l *eventList) decode(o object, key string, depth int) error {
	if !bytes.HasPrefix(o.Get(key), []byte("[")) {
		return fmt.Errorf("%w: %q is %.40s, want a list of events", ErrInvalid, key, o.Get(key))
	}
	events, err := Composed{list: eventList(o.Get(key))}.read(depth)
	if err != nil {
		return err
	}
	// Not Compose, which validates: at every level anew, that would take a time
	// exponential in the depth. UnmarshalEvent validates once, in the end.
	c, err := composeUnchecked(events)
	*l = c.list
	return err
}

// SelfComposed is Count independent releases of Event.
type SelfComposed struct {
	Event Event
	Count int // at least 0
}

func (e SelfComposed) String() string           { return fmt.Sprintf("SelfComposed(%d × %v)", e.Count, e.Event) }
func (e SelfComposed) simplest() (Event, error) { return e, nil }
func (e SelfComposed) parts() []Entry           { return []Entry{{e.Event, e.Count}} }

func (e SelfComposed) seenBy(size int) (Event, error) {
	part, err := e.Event.seenBy(size)
	return SelfComposed{part, e.Count}, err
}

func (e *SelfComposed) parameters() []parameter {
	return []parameter{inside(&e.Event), within("count", &e.Count, atLeast(0))}
}
