package stats

import (
	"math"
	"slices"
	"sort"

	"dpsgd/configs"
)

// curve is about how many of n records are below each edge of equal parts of the bounds. It does not
// fall.
type curve struct {
	below  []float64
	bounds configs.Interval
}

// newCurve takes noisy counts of the parts for the counts that are nearest to them, in the sum of
// squares, among all that are no less than zero and add up to the number of records, which is
// public: each less the same number, or zero. What is computed of noisy counts costs nothing.
func newCurve(noisy []int64, n int, b configs.Interval) curve {
	sorted := slices.Clone(noisy)
	slices.SortFunc(sorted, func(x, y int64) int { return int(min(max(y-x, -1), 1)) })
	sum, less := -float64(n), 0.0
	for i, c := range sorted {
		if sum += float64(c); float64(c) > sum/float64(i+1) {
			less = sum / float64(i+1)
		}
	}
	below := make([]float64, len(noisy)+1)
	for i, c := range noisy {
		below[i+1] = below[i] + max(0, float64(c)-less)
	}
	return curve{below, b}
}

// place returns the position of x, counted in parts.
func (c curve) place(x float64) float64 {
	return (x - c.bounds.Low) / (c.bounds.High - c.bounds.Low) * float64(len(c.below)-1)
}

// at returns the number of records below x. The records of a part lie evenly in it.
func (c curve) at(x float64) float64 {
	place := c.place(x)
	i := min(int(place), len(c.below)-2)
	return c.below[i] + c.part(x)*(place-float64(i))
}

// part returns the number of records in the part that holds x.
func (c curve) part(x float64) float64 {
	i := min(int(c.place(x)), len(c.below)-2)
	return c.below[i+1] - c.below[i]
}

// inverse is the number that so many records are below: an end of the bounds for less than one
// record and for all but one.
func (c curve) inverse(records float64) float64 {
	last := len(c.below) - 1
	i := sort.Search(last, func(i int) bool { return c.below[i+1] >= records })
	switch {
	case records <= 0:
		return c.bounds.Low
	case i == last || records >= c.below[last]:
		return c.bounds.High
	}
	place := float64(i) + (records-c.below[i])/(c.below[i+1]-c.below[i])
	return c.bounds.Nearest(c.bounds.Low + (c.bounds.High-c.bounds.Low)*place/float64(last))
}

// interval is of all numbers that at most so many records lie from x, or from where a quantile is
// read off. Off is asked with how many parts the end is away when it is so many records.
func (c curve) interval(x, records float64, off func(parts float64) float64) configs.Interval {
	low := c.inverse(records - off(0))
	high := c.inverse(records + off(0))
	return configs.Interval{
		Low:  c.inverse(records - off(c.place(x)-c.place(low))),
		High: c.inverse(records + off(c.place(high)-c.place(x))),
	}
}

// outward is the interval up to the next edges of so many places, between which nobody knows where
// records lie.
func outward(i, b configs.Interval, places int) configs.Interval {
	at := func(x float64) float64 { return (x - b.Low) / (b.High - b.Low) * float64(places) }
	return configs.Interval{
		Low:  edge(int(math.Floor(at(i.Low)+1e-9)), b, places),
		High: edge(min(int(math.Ceil(at(i.High)-1e-9)), places), b, places),
	}
}
