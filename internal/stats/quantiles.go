package stats

import (
	"fmt"
	"math"

	"dpsgd/configs/statistics"
	"dpsgd/release/answer"
)

// quantiles are numbers that a share of the records lies below: chosen among the edges of the bins,
// or read off a noisy histogram of them, as are the ends of the intervals.
//
// Choices take half of what the statistic may cost, and the ends the other half, all of them
// together: of the noisy counts of few parts of the bounds.
func (a *asked) quantiles(w *work) (estimate, error) {
	buckets, number, err := a.buckets(w)
	if err != nil {
		return estimate{}, err
	}
	parts, z := number, a.noise()
	if choice(a.Mechanism) {
		parts, z = min(number, intervalParts), additive{statistics.DiscreteLaplace, 2 * a.factor / a.epsilon}
	}
	counts, err := counted(w, buckets, number, parts, z)
	if err != nil {
		return estimate{}, err
	}
	e, b := vector(len(a.Quantiles)), a.Bounds.Interval
	for i, q := range a.Quantiles {
		// The part that begins at place p begins with bucket p·number/parts, rounded up.
		place := func(p int) float64 { return edge((p*number+parts-1)/parts, b, number) }
		at, low, high := readOff(counts, z, q, w.records.public)
		value := place(at)
		if choice(a.Mechanism) {
			chosen, err := a.chosen(w, buckets, number, q)
			if err != nil {
				return estimate{}, err
			}
			value = edge(chosen, b, number)
		}
		e.set(i, value, statistics.Interval{Low: min(place(low), value), High: max(place(high), value)})
	}
	return e, nil
}

// intervalParts is in how many parts of the bounds records are counted for the ends of intervals:
// the fewer, the less noise is in a sum of them, and the coarser are the ends.
const intervalParts = 32

// choice reports whether a mechanism chooses among candidates.
func choice(mechanism string) bool {
	switch mechanism {
	case statistics.Exponential, statistics.PermuteAndFlip, statistics.NoisyMax:
		return true
	}
	return false
}

// chosen chooses the edge that is nearest to a quantile.
func (a *asked) chosen(w *work, buckets []int, number int, q float64) (int, error) {
	values, candidates := make([]int64, len(buckets)), make([]int64, number+1)
	for i, b := range buckets {
		values[i] = int64(b)
	}
	for i := range candidates {
		candidates[i] = int64(i)
	}
	scores, err := answer.NewRanks(values, candidates, int(math.Round(q*ranks)), ranks)
	if err != nil {
		return 0, err
	}
	question, err := ofScores(a.Mechanism, scores, a.epsilon/a.factor/float64(2*len(a.Quantiles)))
	if err != nil {
		return 0, err
	}
	return answer.Ask(w.desk, question)
}

// ranks is the denominator of the shares that ranks are compared with.
const ranks = 1 << 16

func ofScores(mechanism string, s *answer.Scores, epsilon float64) (answer.Question[int], error) {
	switch mechanism {
	case statistics.Exponential:
		return answer.Exponential(s, epsilon)
	case statistics.PermuteAndFlip:
		return answer.PermuteAndFlip(s, epsilon)
	case statistics.NoisyMax:
		return answer.NoisyMax(s, epsilon)
	}
	return answer.Question[int]{}, fmt.Errorf("stats: found the mechanism %q, expected one of choices", mechanism)
}

// counted is the noisy number of records in each of some equal parts, given the bucket of each
// record.
func counted(w *work, buckets []int, number, parts int, z additive) ([]int64, error) {
	part := make([]int, len(buckets))
	for i, b := range buckets {
		part[i] = b * parts / number
	}
	sums, err := answer.NewCounts(part, parts)
	if err != nil {
		return nil, err
	}
	question, err := z.question(sums)
	if err != nil {
		return nil, err
	}
	return answer.Ask(w.desk, question)
}

// readOff finds a quantile in noisy counts of n records: the first edge that has the share below
// it, the last one that certainly has no more, and the first that certainly has as many. How many
// records are below an edge is the sum of the counts below, or n less the sum of those above,
// whichever are fewer.
func readOff(counts []int64, z additive, q float64, n int) (value, low, high int) {
	number := len(counts)
	below := make([]float64, number+1)
	for i, c := range counts {
		below[i+1] = below[i] + float64(c)
	}
	above := float64(n) - below[number] // what the sums from the other end differ by
	value, high = number, number
	for i := number; i >= 0; i-- {
		records, terms := below[i], i
		if number-i < i {
			records, terms = below[i]+above, number-i
		}
		off, want := z.withinSum(terms, 1, miss/float64(number)), q*float64(n)
		if records >= want {
			value = i
		}
		if records-off >= want {
			high = i
		}
		if records+off <= want {
			low = max(low, i)
		}
	}
	return value, low, high
}

// median is that of a column if a test finds that no record moves it by more than the proposed
// step, and nothing else. Half of its ε is for the test, half for Laplace noise that goes by the
// step.
func (a *asked) median(w *work) (estimate, error) {
	columns, err := w.records.columns(a.Statistic)
	if err != nil {
		return estimate{}, err
	}
	var values []int64
	for r := range w.records.each() {
		values = append(values, steps(r.number(columns[0]), a.Bounds.Interval))
	}
	step := max(1, int64(math.Ceil(a.Step/a.Bounds.Half()*resolution)))
	epsilon := a.epsilon / a.factor
	question, err := answer.Median(values, -resolution, resolution, min(step, 2*resolution-1), epsilon, a.delta)
	if err != nil {
		return estimate{}, err
	}
	tested, err := answer.Ask(w.desk, question)
	if err != nil || !tested.Passed {
		return estimate{refused: true}, err
	}
	number := func(x float64) float64 { return a.Bounds.Middle() + a.Bounds.Half()*x/resolution }
	off := additive{statistics.DiscreteLaplace, 2 / epsilon}.within(float64(step), miss) + 1
	value := float64(tested.Value)
	return scalar(number(value), statistics.Interval{Low: number(value - off), High: number(value + off)}), nil
}
