package stats

import (
	"math"

	"dpsgd/configs/statistics"
	"dpsgd/release/answer"
)

// boundsKind is the statistic that private bounds are, in results.
const boundsKind = "bounds"

// aboveThreshold is its mechanism.
const aboveThreshold = "above_threshold"

// ladder are the numbers that bounds are found among: 0, and the powers of two from 2^-20 to 2^40
// with both signs. It is public.
func ladder() (rungs []float64) {
	for k := 40; k >= -20; k-- {
		rungs = append(rungs, -math.Exp2(float64(k)))
	}
	rungs = append(rungs, 0)
	for k := -20; k <= 40; k++ {
		rungs = append(rungs, math.Exp2(float64(k)))
	}
	return rungs
}

// bounds finds bounds of a column that leave few records outside: two sparse vector searches, one up
// the ladder for the first rung below which almost all records are, one down. About as many records
// may be outside, on each side, as the noise of a search is large.
func (a *asked) bounds(w *work) (estimate, error) {
	columns, err := w.records.columns(a.Statistic)
	if err != nil {
		return estimate{}, err
	}
	rungs := ladder()
	below, above := make([]int64, len(rungs)), make([]int64, len(rungs))
	for r := range w.records.each() {
		x := r.number(columns[0])
		for i, rung := range rungs {
			if x <= rung {
				below[i]++
			}
			if x >= rungs[len(rungs)-1-i] {
				above[i]++
			}
		}
	}
	epsilon := a.epsilon / a.factor / 2
	up, err := first(w, below, epsilon)
	if err != nil {
		return estimate{}, err
	}
	down, err := first(w, above, epsilon)
	if err != nil {
		return estimate{}, err
	}
	found := statistics.Interval{Low: rungs[len(rungs)-1-down], High: rungs[up]}
	if !(found.Low < found.High) { // all records have one value, or the noise was large
		found = statistics.Interval{Low: rungs[max(0, up-1)], High: rungs[min(len(rungs)-1, up+1)]}
	}
	e := vector(2)
	e.value = []float64{found.Low, found.High}
	e.low, e.high = e.value, e.value
	return e, nil
}

// first is the first of rising counts that is almost all records.
func first(w *work, rising []int64, epsilon float64) (int, error) {
	ofThreshold, ofCounts := searchNoise(epsilon)
	found, err := searchFor(w, rising, float64(w.records.public)-2*(ofThreshold+ofCounts), epsilon)
	return min(found, len(rising)-1), err
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
