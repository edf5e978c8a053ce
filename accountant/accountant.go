package accountant

import "errors"

var (
	// ErrUnsupported is matched by the error of an accountant that cannot analyse an event
	// or a relation. The accountant never answers with a guess instead.
	ErrUnsupported = errors.New("accountant: unsupported")

	// ErrInvalid is matched by the error for an argument or a stored value out of its range.
	ErrInvalid = errors.New("accountant: invalid")

	// ErrUncertified is matched by the error of an accountant that can analyse a ledger but
	// cannot bound the error of its numerics. Another accountant may answer.
	ErrUncertified = errors.New("accountant: no certified answer")

	// ErrUnreachable is matched by the error for a target that no noise multiplier reaches.
	ErrUnreachable = errors.New("accountant: target out of reach")
)

// Accountant turns a ledger into a guarantee. Implementations are pure functions:
// the answer depends on the arguments alone, calls change nothing that a caller
// can see, and they may come from several goroutines.
//
// Every implementation keeps this contract (and the contract test holds it to it): an empty ledger
// costs 0; one with a NonPrivate event, or with a release of data without noise, costs +Inf; no
// epsilon is NaN or negative, or falls when events are added, sampling probabilities rise, noise
// multipliers fall or delta falls; an event that it cannot analyse is an error that matches
// ErrUnsupported, a delta outside (0, 1) or a nil ledger one that matches ErrInvalid.
type Accountant interface {
	// Name returns the name that accountants.New knows, for instance "rdp".
	Name() string

	// Relation returns the relation that the answers hold for.
	Relation() Relation

	// Guarantee returns an upper bound for epsilon at delta of everything in the
	// ledger together, with the relation and the theorems it rests on.
	Guarantee(l *Ledger, delta float64) (Guarantee, error)

	// Delta returns an upper bound for delta at epsilon of everything in the ledger together, for
	// an epsilon that is finite and at least 0. It is 1 where there is no guarantee. It may be 0:
	// where nothing was released, or the releases are epsilon-differentially private.
	Delta(l *Ledger, epsilon float64) (Guarantee, error)
}

// Bound returns an upper bound of epsilon, given delta, or of delta, given epsilon, of everything
// in a ledger together, and the theorems behind it for Guarantee.Method. With an error the number
// means nothing.
type Bound func(l *Ledger, given float64) (bound float64, method string, err error)

// Make returns the accountant of that name under r that answers by two bounds: epsilon, which is
// given a delta in (0, 1), and delta, which is given an epsilon that is finite and at least 0. It
// is an error if r is not a relation.
func Make(name string, r Relation, epsilon, delta Bound) (Accountant, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &made{name, r, epsilon, delta}, nil
}

// made is the accountant that Make returns.
type made struct {
	name           string
	relation       Relation
	epsilon, delta Bound
}

func (m *made) Name() string       { return m.name }
func (m *made) Relation() Relation { return m.relation }

func (m *made) Guarantee(l *Ledger, delta float64) (Guarantee, error) {
	if err := ValidateDelta(delta); err != nil {
		return Guarantee{}, err
	}
	epsilon, method, err := m.epsilon(l, delta)
	if err != nil {
		return Guarantee{}, err
	}
	return Guarantee{epsilon, delta, m.relation, method}, nil
}

func (m *made) Delta(l *Ledger, epsilon float64) (Guarantee, error) {
	if err := ValidateEpsilon(epsilon); err != nil {
		return Guarantee{}, err
	}
	delta, method, err := m.delta(l, epsilon)
	if err != nil {
		return Guarantee{}, err
	}
	return Guarantee{epsilon, delta, m.relation, method}, nil
}

// Interval bounds a number from both sides.
type Interval struct{ Lower, Upper float64 }

// IntervalAccountant is an accountant that also bounds the truth from below: the exact epsilon or
// delta of the dominating pairs of the ledger lies in the interval, whose upper end is the number
// in the Guarantee. Arguments and errors are as in Accountant.
type IntervalAccountant interface {
	Accountant
	EpsilonInterval(l *Ledger, delta float64) (Interval, error)
	DeltaInterval(l *Ledger, epsilon float64) (Interval, error)
}
