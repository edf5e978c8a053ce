package stats

import (
	"fmt"
	"math"

	"dpsgd/configs/statistics"
	"dpsgd/release/answer"
)

// quantiles are numbers that a share of the records lies below: chosen among the edges of the bins,
// or read off a noisy histogram of them.
func (a *asked) quantiles(w *work) (estimate, error) {
	buckets, number, err := a.buckets(w)
	if err != nil {
		return estimate{}, err
	}
	e := vector(len(a.Quantiles))
	var counts []int64
	for i, q := range a.Quantiles {
		var value int
		var low, high int
		if choice(a.Mechanism) {
			value, low, high, err = a.chosen(w, buckets, number, q)
		} else {
			if counts == nil {
				counts, err = a.counted(w, buckets, number)
			}
			if err == nil {
				value, low, high = a.readOff(counts, q, w.records.public)
			}
		}
		if err != nil {
			return estimate{}, err
		}
		b := a.Bounds.Interval
		e.set(i, edge(value, b, number), statistics.Interval{Low: edge(min(low, value), b, number), High: edge(max(high, value), b, number)})
	}
	return e, nil
}

// choice reports whether a mechanism chooses among candidates.
func choice(mechanism string) bool {
	switch mechanism {
	case statistics.Exponential, statistics.PermuteAndFlip, statistics.NoisyMax:
		return true
	}
	return false
}

// chosen chooses the edge that is nearest to a quantile, with a third of what the quantile may cost,
// and looks for the ends of its interval with the rest.
func (a *asked) chosen(w *work, buckets []int, number int, q float64) (value, low, high int, err error) {
	epsilon := a.epsilon / a.factor / float64(3*len(a.Quantiles))
	values, candidates := make([]int64, len(buckets)), make([]int64, number+1)
	for i, b := range buckets {
		values[i] = int64(b)
	}
	for i := range candidates {
		candidates[i] = int64(i)
	}
	scores, err := answer.NewRanks(values, candidates, int(math.Round(q*ranks)), ranks)
	if err != nil {
		return 0, 0, 0, err
	}
	question, err := ofScores(a.Mechanism, scores, epsilon)
	if err != nil {
		return 0, 0, 0, err
	}
	if value, err = answer.Ask(w.desk, question); err != nil {
		return 0, 0, 0, err
	}
	below := make([]int64, number+1) // records below every edge
	for _, b := range buckets {
		below[b+1]++
	}
	for i := range number {
		below[i+1] += below[i]
	}
	n := float64(w.records.public)
	// Upwards: the last edge below which there are certainly no more than the share of the records.
	up, err := search(w, below, q*n, epsilon, number)
	if err != nil {
		return 0, 0, 0, err
	}
	above := make([]int64, number+1) // records that are not below, from the last edge down
	for i := range above {
		above[i] = int64(len(buckets)) - below[number-i]
	}
	down, err := search(w, above, (1-q)*n, epsilon, number)
	return value, up, number - down, err
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
	return nil, fmt.Errorf("stats: found the mechanism %q, expected one of choices", mechanism)
}

// search is the last of rising counts that is at most most, but for half of the chance that an
// interval misses: the one before the first that is found to be above most, less what the noise may
// be.
func search(w *work, rising []int64, most, epsilon float64, number int) (last int, err error) {
	half := miss / 4
	ofThreshold, ofCounts := searchNoise(epsilon)
	slack := math.Log(1/half)*ofThreshold + math.Log(float64(number+1)/half)*ofCounts
	above, err := searchFor(w, rising, most-slack, epsilon)
	return max(0, above-1), err
}

// searchNoise is the scale of Laplace's noise on the threshold of a search with one answer, and on
// every count (Algorithm 1 in Lyu, Su, Li 2017, arXiv:1603.01699v4, with the shares of its section
// 4.2).
func searchNoise(epsilon float64) (ofThreshold, ofCounts float64) {
	share := 1 / (1 + math.Cbrt(4))
	return 1 / (epsilon * share), 2 / (epsilon * (1 - share))
}

// searchFor is the first of some counts that is found above a threshold, or how many there are.
func searchFor(w *work, counts []int64, threshold, epsilon float64) (int, error) {
	question, err := answer.AboveThreshold(int64(math.Floor(threshold)), 1, 1, epsilon)
	if err != nil {
		return 0, err
	}
	s, err := answer.Ask(w.desk, question)
	if err != nil {
		return 0, err
	}
	for i, count := range counts {
		sums, err := total(count)
		if err != nil {
			return 0, err
		}
		if above, err := s.Above(sums); above || err != nil {
			return i, err
		}
	}
	return len(counts), nil
}

// total are count records that contribute 1 each.
func total(count int64) (*answer.Sums, error) {
	return answer.NewSums(func(yield func([]int64) bool) {
		one := []int64{1}
		for range count {
			if !yield(one) {
				return
			}
		}
	}, 1, answer.Within(0, 1))
}

// counted is the noisy number of records in each bucket.
func (a *asked) counted(w *work, buckets []int, number int) ([]int64, error) {
	sums, err := answer.NewCounts(buckets, number)
	if err != nil {
		return nil, err
	}
	return a.ask(w, sums)
}

// readOff finds a quantile in noisy counts of n records. How many records are below an edge is the
// sum of the counts below, or n less the sum of those above, whichever are fewer.
func (a *asked) readOff(counts []int64, q float64, n int) (value, low, high int) {
	number := len(counts)
	sum := 0.0
	upper := make([]float64, number+1) // sums from each edge to the end
	for i := number - 1; i >= 0; i-- {
		upper[i] = upper[i+1] + float64(counts[i])
	}
	want, found := q*float64(n), false
	high = number
	narrow := false
	for i := 0; i <= number; i++ {
		below, terms := sum, i
		if number-i < i {
			below, terms = float64(n)-upper[i], number-i
		}
		off := 0.0
		if terms > 0 {
			off = a.noise().withinSum(terms, 1, miss/float64(number))
		}
		if below+off <= want {
			low = i
		}
		if !narrow && below-off >= want {
			high, narrow = i, true
		}
		if !found && below >= want {
			value, found = i, true
		}
		if i < number {
			sum += float64(counts[i])
		}
	}
	if !found {
		value = number
	}
	return value, low, high
}

// median is that of a column if a test finds that no record moves it by more than the proposed step,
// and nothing else. Half of its ε is for the test, half for Laplace noise that goes by the step.
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
