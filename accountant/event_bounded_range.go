package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// BoundedRange is a choice such as the exponential mechanism makes: one record changes the
// log-probabilities of any two outcomes by amounts that differ by at most Range (Durfee, Rogers
// 2019, arXiv:1905.04273). Where candidates are chosen with a chance in proportion to exp(ε·u/(2Δ))
// and one record moves every score u by at most Δ, Range is ε. BoundedRange{ε} is ε-private, and
// costs about half of that in composition (Dong, Durfee, Rogers 2020, arXiv:1909.13830).
type BoundedRange struct{ Range float64 }

func (e BoundedRange) String() string           { return fmt.Sprintf("BoundedRange(ε=%v)", e.Range) }
func (e BoundedRange) simplest() (Event, error) { return nilIf(e.Range == 0, e) }

// seenBy returns size times the range, rounded up: ranges of a chain of neighbours add up.
func (e BoundedRange) seenBy(size int) (Event, error) {
	sum := numeric.MulUp(e.Range, float64(size))
	return nonPrivateIf(math.IsInf(sum, 1), BoundedRange{sum})
}

func (e *BoundedRange) parameters() []parameter {
	return []parameter{within("range", &e.Range, atLeastZero)}
}
