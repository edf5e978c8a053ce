package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// ApproxDP is a release of which only (Epsilon, Delta)-differential privacy is known, under the
// relation that is asked about.
type ApproxDP struct{ Epsilon, Delta float64 }

func (e ApproxDP) String() string { return fmt.Sprintf("ApproxDP(ε=%v, δ=%v)", e.Epsilon, e.Delta) }

func (e ApproxDP) simplest() (Event, error) {
	if e.Epsilon == 0 && e.Delta == 0 {
		return nil, nil
	}
	return nonPrivateIf(e.Delta == 1, e)
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
