package answer

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Sums are sums over records, each of which contributes a vector of integers within a bound: one
// integer to each sum. They are secret, and cannot be changed.
type Sums struct {
	values []int64
	reach  reach
}

// NewSums adds up the contributions of records, coordinate by coordinate, in this many sums. What
// one record contributes has to depend on that record alone. A record whose contribution is beyond
// the bound, or of another length, is left out: it adds zero to every sum.
func NewSums(contributions iter.Seq[[]int64], coordinates int, b Bound) (*Sums, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	if coordinates < 1 {
		return nil, fmt.Errorf("answer: found sums of %d coordinates, expected at least 1", coordinates)
	}
	r, err := b.reach(int64(coordinates))
	if err != nil {
		return nil, err
	}
	values := make([]int64, coordinates)
	for contribution := range contributions {
		if len(contribution) == coordinates && b.holds(contribution) {
			for i, x := range contribution {
				values[i] = saturated(values[i], x)
			}
		}
	}
	return &Sums{values, r}, nil
}

// NewTotal returns the sum of one integer of each record. A value outside of [low, high] counts as
// the nearest end.
func NewTotal(values []int64, low, high int64) (*Sums, error) {
	clamped := func(yield func([]int64) bool) {
		for _, x := range values {
			if !yield([]int64{min(max(x, low), high)}) {
				return
			}
		}
	}
	return NewSums(clamped, 1, Within(low, high))
}

// NewCounts returns how many records are in each of number buckets, given the bucket of each
// record. A record whose bucket is not in [0, number) is not counted.
func NewCounts(buckets []int, number int) (*Sums, error) {
	if number < 1 {
		return nil, fmt.Errorf("answer: found %d buckets, expected at least 1", number)
	}
	counts := make([]int64, number)
	for _, b := range buckets {
		if b >= 0 && b < number {
			counts[b]++
		}
	}
	return &Sums{counts, reach{l1: 1, l2: 1, width: 1, alone: true}}, nil
}

// Scores returns the sums as scores of candidates, one candidate for each sum.
func (s *Sums) Scores() *Scores { return newScores(s.values, s.reach.width) }

// Format hides the sums from all verbs but %w and, of a copy, %p.
func (s Sums) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "%d secret sums", len(s.values)) }

// saturated returns a + b or, where that overflows, the largest or smallest int64. Sums of fewer
// than 2^32 contributions do not overflow.
func saturated(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// greatest returns the index of the greatest value, the first index of several.
func greatest(values []int64) int { return slices.Index(values, slices.Max(values)) }
