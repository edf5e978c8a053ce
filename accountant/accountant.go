package accountant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

var (
	// ErrUnsupported is matched when an accountant cannot analyse an event or a
	// relation. It never answers with a guess.
	ErrUnsupported = errors.New("accountant: unsupported")

	// ErrInvalid is matched when an argument or a stored value is out of its range.
	ErrInvalid = errors.New("accountant: invalid")

	// ErrUnreachable is matched when no noise multiplier reaches a target.
	ErrUnreachable = errors.New("accountant: target out of reach")
)

// Accountant turns a ledger into a guarantee. Implementations are pure functions:
// the answer depends on the arguments alone, calls change nothing that a caller
// can see, and they may come from several goroutines.
//
// Every implementation keeps this contract (and the contract test holds it to it):
// an empty ledger costs 0; a ledger with a NonPrivate event, or one without noise
// that touches data, costs +Inf; Epsilon is never NaN or negative, does not fall
// when events are added, sampling probabilities rise, noise multipliers fall or
// delta falls; an event it cannot analyse is an error that matches ErrUnsupported,
// a delta outside (0, 1) or a nil ledger one that matches ErrInvalid.
type Accountant interface {
	// Name is the name that New knows, for instance "rdp".
	Name() string

	// Guarantee returns an upper bound for epsilon at delta of everything in the
	// ledger together, with the relation and the theorems it rests on.
	Guarantee(l *Ledger, delta float64) (Guarantee, error)
}

// accountants makes each accountant with its default options, by name.
var accountants = map[string]func() (Accountant, error){
	nameRDP: func() (Accountant, error) { return NewRDP(DefaultOrders()) },
}

// New returns the accountant of that name with its default options. See Names.
func New(name string) (Accountant, error) {
	make, ok := accountants[name]
	if !ok {
		return nil, fmt.Errorf("%w: accountant is %.40q, want one of %q", ErrUnsupported, name, Names())
	}
	return make()
}

// Names returns the names that New knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(accountants)) }
