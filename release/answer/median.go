package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"dpsgd/accountant"
	"dpsgd/internal/noise"
	"dpsgd/internal/random"
)

// Tested is an answer that is given only if a test passed: Value is 0 unless Passed.
type Tested struct {
	Value  int64
	Passed bool
}

// Median asks for the median of the records' values, if no record moves it by more than step: by
// propose-test-release (Dwork, Lei 2009, "Differential Privacy and Robust Statistics"). What lies
// outside of [low, high] counts as the nearest end; step is less than high - low.
//
// The step is proposed; how many records it takes to make it wrong is computed, and tested with
// discrete Laplace noise of scale 2/epsilon against a threshold that noise alone reaches with
// probability delta; then the median is released with discrete Laplace noise of scale
// 2·step/epsilon. It is (epsilon, delta)-differentially private where a record is added or removed
// (Vadhan 2017, "The Complexity of Differential Privacy", Proposition 3.2), which is its event: of
// two neighbours, either a record moves the median of the first by more than step, and the test
// passes with a chance of at most delta, or it does not, and both releases have their ε/2.
func Median(values []int64, low, high, step int64, epsilon, delta float64) (Question[Tested], error) {
	switch {
	case low < -maxContribution || high > maxContribution || low >= high:
		return Question[Tested]{}, fmt.Errorf("answer: found values from %d to %d, expected low below high within ±%d", low, high, int64(maxContribution))
	case step < 1 || step >= high-low:
		return Question[Tested]{}, fmt.Errorf("answer: found a step of %d, expected at least 1 and less than %d", step, high-low)
	case !(epsilon > 0) || math.IsInf(epsilon, 1):
		return Question[Tested]{}, fmt.Errorf("answer: found epsilon %v, expected finite and above 0", epsilon)
	case !(delta > 0 && delta < 1):
		return Question[Tested]{}, fmt.Errorf("answer: found delta %v, expected in (0, 1)", delta)
	}
	ofTest, err := times(2/epsilon, 1+1e-12, noise.MaxScale)
	ofMedian, errMedian := times(2/epsilon, float64(step)*(1+1e-12), noise.MaxScale)
	// Pr[N ≥ n] is below exp(-n/scale). math.Log is wrong below 2^-1022, unlike math.Log2.
	needed := int64(math.Ceil(ofTest.Float64() * math.Ln2 * -math.Log2(delta) * (1 + 1e-12)))
	x := newOrdered(values, low, high)
	median, distance := x.median(), x.distance(step)
	return ask(cmp.Or(err, errMedian), accountant.AddOrRemoveDP{Epsilon: epsilon, Delta: delta}, func(src *random.Source) Tested {
		if saturated(distance, noise.Laplace(ofTest, src)) < needed {
			return Tested{}
		}
		return Tested{saturated(median, noise.Laplace(ofMedian, src)), true}
	})
}

// ordered holds values in ascending order. The places before the first value hold low, the places
// after the last hold high.
type ordered struct {
	values    []int64
	low, high int64
}

func newOrdered(values []int64, low, high int64) ordered {
	clamped := make([]int64, len(values))
	for i, x := range values {
		clamped[i] = min(max(x, low), high)
	}
	slices.Sort(clamped)
	return ordered{clamped, low, high}
}

// at returns the value at place i, counted from 1.
func (o ordered) at(i int) int64 {
	switch {
	case i < 1:
		return o.low
	case i > len(o.values):
		return o.high
	}
	return o.values[i-1]
}

func (o ordered) middle() int { return (len(o.values) + 1) / 2 }

// median returns the ⌈n/2⌉-th of n values, and low if there are none.
func (o ordered) median() int64 { return o.at(o.middle()) }

// distance returns a lower bound on how many records have to be added or removed until one more
// moves the median by more than step. One record changes the bound by at most 1.
//
// It is the first k for which some values k+1 places apart, at most k+1 places to either side of
// the middle m, are further apart than step. One record moves the median from x[m] to between
// x[m-1] and x[m+1], so that distance 0 is all that is unstable; and what is k+1 places apart in
// one data set is at most k+2 places apart in a neighbour, whose middle is at most one place away,
// or lies between two that are.
func (o ordered) distance(step int64) int64 {
	m := o.middle()
	return int64(sort.Search(len(o.values), func(k int) bool {
		for from := m - 1 - k; from <= m; from++ {
			if o.at(from+k+1)-o.at(from) > step {
				return true
			}
		}
		return false
	}))
}
