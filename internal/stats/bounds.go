package stats

import (
	"math"
	"slices"

	"dpsgd/release/answer"
)

// The kind and the mechanism of private bounds in results.
const (
	boundsKind      = "bounds"
	boundsMechanism = "above_threshold"
)

// ladder returns the candidates for private bounds, in ascending order: 0, and the powers of two
// from 2^-20 to 2^40 with both signs. They are public.
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

// bounds finds bounds of a column that leave few records outside: two sparse vector searches, one
// up the ladder for the first rung below which almost all records are, one down. About as many
// records may be outside, on each side, as the noise of a search is large.
func (a *asked) bounds(w *work) (estimate, error) {
	var numbers []float64
	for r := range w.records.each() {
		numbers = append(numbers, r.number(a.columns[0]))
	}
	rungs, last := ladder(), len(ladder())-1
	epsilon := a.epsilon / a.factor / 2
	up, err := search(w, rungs, epsilon, numbers, func(x, rung float64) bool { return x <= rung })
	if err != nil {
		return estimate{}, err
	}
	slices.Reverse(rungs)
	down, err := search(w, rungs, epsilon, numbers, func(x, rung float64) bool { return x >= rung })
	if err != nil {
		return estimate{}, err
	}
	slices.Reverse(rungs)
	low, high := last-down, up
	if low >= high { // all records have one value, or the noise was large
		low, high = max(0, up-1), min(last, up+1)
	}
	found := []float64{rungs[low], rungs[high]}
	return estimate{value: found, low: found, high: found}, nil
}

// search returns the index of the first rung for which beside holds for almost all numbers: all but
// twice as many as the scale of the noise, which is Laplace's on the threshold and on every count
// (Algorithm 1 in Lyu, Su, Li 2017, arXiv:1603.01699v4, with the shares of its section 4.2). If
// there is none, it returns the last index.
func search(w *work, rungs []float64, epsilon float64, numbers []float64, beside func(x, rung float64) bool) (int, error) {
	share := 1 / (1 + math.Cbrt(4))
	slack := 2 * (1/(epsilon*share) + 2/(epsilon*(1-share)))
	question, err := answer.AboveThreshold(int64(math.Floor(float64(w.records.public)-slack)), 1, 1, epsilon)
	if err != nil {
		return 0, err
	}
	s, err := answer.Ask(w.desk, question)
	if err != nil {
		return 0, err
	}
	counted := make([]int64, len(numbers))
	for i, rung := range rungs {
		for r, x := range numbers {
			if counted[r] = 0; beside(x, rung) {
				counted[r] = 1
			}
		}
		sums, err := answer.NewTotal(counted, 0, 1)
		if err != nil {
			return 0, err
		}
		if above, err := s.Above(sums); above || err != nil {
			return i, err
		}
	}
	return len(rungs) - 1, nil
}
