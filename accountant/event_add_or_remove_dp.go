package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

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

func (e AddOrRemoveDP) simplest() (Event, error) {
	if e.Epsilon == 0 && e.Delta == 0 {
		return nil, nil
	}
	return nonPrivateIf(e.Delta == 1, e)
}

func (e AddOrRemoveDP) seenBy(size int) (Event, error) {
	epsilon, delta := numeric.Group(e.Epsilon, e.Delta, size)
	return nonPrivateIf(math.IsInf(epsilon, 1), AddOrRemoveDP{epsilon, delta})
}

func (e *AddOrRemoveDP) parameters() []parameter { return (*ApproxDP)(e).parameters() }
