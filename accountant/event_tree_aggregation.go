package accountant

import (
	"fmt"
	"math/bits"
)

// TreeAggregation is one pass of the tree mechanism over Steps sums, with Gaussian noise of
// deviation NoiseMultiplier × the largest norm of a contribution on every node of the tree: each
// record is in one sum and so in at most Depth nodes (Kairouz et al. 2021, arXiv:2103.00039,
// section 3; Theorem C.1). It is defined for ZeroOut.
type TreeAggregation struct {
	NoiseMultiplier float64
	Steps           int
}

// Depth returns ⌈log₂(Steps+1)⌉, the most nodes whose sums hold one record.
func (e TreeAggregation) Depth() int { return bits.Len(uint(e.Steps)) }

func (e TreeAggregation) String() string {
	return fmt.Sprintf("TreeAggregation(σ=%v, steps=%d)", e.NoiseMultiplier, e.Steps)
}

func (e TreeAggregation) simplest() (Event, error) { return nonPrivateIf(e.NoiseMultiplier == 0, e) }

func (e TreeAggregation) seenBy(size int) (Event, error) {
	return TreeAggregation{shareDown(e.NoiseMultiplier, size), e.Steps}, nil
}

func (e *TreeAggregation) parameters() []parameter {
	return []parameter{
		within("noise_multiplier", &e.NoiseMultiplier, atLeastZero),
		within("steps", &e.Steps, atLeast(1)),
	}
}
