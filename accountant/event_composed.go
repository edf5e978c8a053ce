package accountant

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// SelfComposed is Count independent releases of Event.
type SelfComposed struct {
	Event Event
	Count int // at least 0
}

// Composed is several releases, all of them on the same data; within a sampled event, on
// the same sample. Compose makes one; the zero value is the composition of nothing.
type Composed struct {
	list string // the events as MarshalEvent writes them, in a JSON list: comparable by ==
}

// Compose returns the composition of the events, in order. Its error matches ErrInvalid.
func Compose(events ...Event) (Composed, error) {
	for i, e := range events {
		if err := Validate(e); err != nil {
			return Composed{}, fmt.Errorf("composed event %d: %w", i, err)
		}
	}
	c, err := composeUnchecked(events)
	if err != nil {
		return Composed{}, err
	}
	if err := Validate(c); err != nil { // of the nesting
		return Composed{}, err
	}
	return c, nil
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
	return Composed{list: "[" + strings.Join(list, ",") + "]"}, nil
}

// Events returns what was composed, in order.
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

// RepeatAndSelect is the choice of the best among several runs of Event, by a score that
// is part of each run's release: the number of runs is random and only the best run is
// released (Papernot, Steinke 2022, arXiv:2110.03620v2). A fixed number of runs
// has no such guarantee.
//
// The number of runs has a truncated negative binomial distribution of the given Shape
// (Definition 1; 0 is logarithmic, 1 geometric) or, with Shape = +Inf, a Poisson
// distribution, and Mean runs on average.
type RepeatAndSelect struct {
	Event Event
	Mean  float64 // at least 1, finite
	Shape float64 // at least 0, may be +Inf
}

func (SelfComposed) isEvent()    {}
func (Composed) isEvent()        {}
func (RepeatAndSelect) isEvent() {}

// String writes the event like its formula.
func (e SelfComposed) String() string { return fmt.Sprintf("SelfComposed(%d × %v)", e.Count, e.Event) }

// String writes the event like its formula.
func (e Composed) String() string {
	var parts []string
	for _, part := range e.Events() {
		parts = append(parts, part.String())
	}
	return "Composed(" + strings.Join(parts, ", ") + ")"
}

// String writes the event like its formula.
func (e RepeatAndSelect) String() string {
	return fmt.Sprintf("RepeatAndSelect(mean=%v, shape=%v, %v)", e.Mean, e.Shape, e.Event)
}

func (e SelfComposed) validate(depth int) error {
	if e.Count < 0 {
		return fmt.Errorf("%w: count is %d, must be at least 0", ErrInvalid, e.Count)
	}
	return validate(e.Event, depth+1)
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

func (e RepeatAndSelect) validate(depth int) error {
	if !(e.Mean >= 1) || math.IsInf(e.Mean, 1) {
		return fmt.Errorf("%w: mean number of runs is %v, must be finite and at least 1", ErrInvalid, e.Mean)
	}
	if !(e.Shape >= 0) {
		return fmt.Errorf("%w: shape of the number of runs is %v, must be at least 0", ErrInvalid, e.Shape)
	}
	return validate(e.Event, depth+1)
}
