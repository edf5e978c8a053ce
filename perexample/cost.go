package perexample

import "time"

// Cost counts multiply-adds per example.
type Cost struct {
	GhostNorm   float64 // squared norm without the gradient
	GhostSum    float64 // share of one example in the weighted sum
	Materialise float64 // the gradient itself
}

// Estimate predicts the findings of [Measure] from multiply-adds and bytes alone.
func Estimate(rules []Rule, batch int) []Timing {
	timings := make([]Timing, len(rules))
	for i, r := range rules {
		timings[i] = estimate(r, batch)
	}
	return timings
}

// MeasuredBytes returns the most memory that [Measure] takes at a time.
func MeasuredBytes(rules []Rule, batch int) float64 {
	most := 0.0
	for _, r := range rules {
		if s := estimate(r, batch).storing(); s > clearRatio || s < 1/clearRatio {
			continue
		}
		x, dz := r.Values()
		one := float64(x) + float64(dz) + float64(r.Size()) + 3 // the inputs, and what is stored
		most = max(most, 4*float64(examples(r, batch))*one)
	}
	return most
}

// estimate returns the times that one example of a batch takes with each engine if a multiply-add
// takes a nanosecond. Only their ratio counts: for convolutions it is mostly within a fifth of the
// measured one, on two cores of a Zen 4.
func estimate(r Rule, batch int) Timing {
	x, dz := r.Values()
	inputs, gradient := 4*float64(x+dz), 4*float64(r.Size())
	perByte := byteCost
	if gradient*float64(batch) <= cacheBytes {
		perByte = cachedByteCost
	}
	c := r.Cost()
	// Norm and sum both read the inputs; or the gradient is formed from them once, written, read
	// for the norm, and read for the sum.
	ghost := c.GhostNorm + c.GhostSum + perByte*2*inputs
	materialise := c.Materialise + perByte*(inputs+3*gradient)
	return Timing{Ghost: time.Duration(ghost), Materialise: time.Duration(materialise)}
}

const (
	// byteCost is the cost of moving a byte, in multiply-adds, and cachedByteCost the same where
	// the gradients of a batch fit cacheBytes, the part of a last-level cache that a training
	// process can hope for: a product runs near the arithmetic limit of a core, a pass over memory
	// does not.
	byteCost       = 1.0
	cachedByteCost = 0.25
	cacheBytes     = 8 << 20
)
