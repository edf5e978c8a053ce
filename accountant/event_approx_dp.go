package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// ApproxDP is a release of which only (Epsilon, Delta)-differential privacy is known, under the
// relation that is asked about.
type ApproxDP struct{ Epsilon, Delta float64 }

func (e ApproxDP) String() string           { return fmt.Sprintf("ApproxDP(ε=%v, δ=%v)", e.Epsilon, e.Delta) }
func (e ApproxDP) simplest() (Event, error) { return simplestOf(e, e) }

// simplestOf returns nil if known, the (ε, δ) of e, is (0, 0), NonPrivate if its δ is 1, else e.
func simplestOf(e Event, known ApproxDP) (Event, error) {
	if known == (ApproxDP{}) {
		return nil, nil
	}
	return nonPrivateIf(known.Delta == 1, e)
}

func (e ApproxDP) seenBy(size int) (Event, error) {
	epsilon, delta := numeric.Group(e.Epsilon, e.Delta, size)
	return nonPrivateIf(math.IsInf(epsilon, 1), ApproxDP{epsilon, delta})
}

func (e *ApproxDP) parameters() []parameter {
	return []parameter{
		within("epsilon", &e.Epsilon, atLeastZero),
		within("delta", &e.Delta, probability),
	}
}

// AddOrRemoveDP is a release of which only this is known: where one record is added, removed, or
// its contribution replaced by zero, it is (Epsilon, Delta)-differentially private. (Of ApproxDP
// that is known under the relation that an accountant is asked for, whichever it is.)
type AddOrRemoveDP struct{ Epsilon, Delta float64 }

func (e AddOrRemoveDP) String() string {
	return fmt.Sprintf("AddOrRemoveDP(ε=%v, δ=%v)", e.Epsilon, e.Delta)
}

// Under returns the (ε, δ) that is known under r. ReplaceOne removes a record and adds another, so
// it gets the (ε, δ) of a group of two: δ = 1 if that ε is infinite.
func (e AddOrRemoveDP) Under(r Relation) ApproxDP {
	if r != ReplaceOne {
		return ApproxDP(e)
	}
	epsilon, delta := numeric.Group(e.Epsilon, e.Delta, 2)
	if math.IsInf(epsilon, 1) {
		return ApproxDP{Delta: 1}
	}
	return ApproxDP{epsilon, delta}
}

func (e AddOrRemoveDP) simplest() (Event, error) { return simplestOf(e, ApproxDP(e)) }

func (e AddOrRemoveDP) seenBy(size int) (Event, error) {
	epsilon, delta := numeric.Group(e.Epsilon, e.Delta, size)
	return nonPrivateIf(math.IsInf(epsilon, 1), AddOrRemoveDP{epsilon, delta})
}

func (e *AddOrRemoveDP) parameters() []parameter { return (*ApproxDP)(e).parameters() }
