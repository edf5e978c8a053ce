package accountant

import (
	"fmt"
	"math"
)

// Event describes one release of a run. The set of events is closed: it is the types of this
// package that are listed in kinds, used as values (not pointers). Two events are equal by ==
// exactly when their types and parameters are.
//
// Parameters of noise are ratios to the bound on what one record contributes, the same under every
// relation: whether a neighbour lacks the record or holds another one, which moves a sum twice as
// far, is the accountant's business.
type Event interface {
	// String writes the event as its type with the parameters, for people.
	String() string

	simplest() (Event, error)       // see Simplify
	seenBy(size int) (Event, error) // see Group
}

// Validate reports whether every parameter of e is in its range. Its error matches ErrInvalid.
func Validate(e Event) error { return validate(e, 0) }

// maxNesting bounds the recursion under hostile input. Real events nest three times.
const maxNesting = 16

func validate(e Event, depth int) error {
	_, parameters, known := kindOf(e)
	switch {
	case depth > maxNesting:
		return fmt.Errorf("%w: events nest more than %d deep", ErrInvalid, maxNesting)
	case e == nil:
		return fmt.Errorf("%w: event is nil, want one of the event types", ErrInvalid)
	case !known: // a pointer to an event has the methods of the event
		return fmt.Errorf("%w: event has type %T, want an event value (not a pointer)", ErrInvalid, e)
	}
	return checkAll(parameters, depth)
}

func atLeastZero(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%w: %s is %v, must be finite and at least 0", ErrInvalid, name, x)
	}
	return nil
}

func probability(name string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%w: %s is %v, must be in [0, 1]", ErrInvalid, name, x)
	}
	return nil
}
