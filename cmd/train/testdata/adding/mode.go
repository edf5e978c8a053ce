package stats

import (
	"slices"

	"dpsgd/release/answer"
)

// mode is the class that most records have, or the part of the bounds that most numbers lie in, by
// noisy counts.
func (a *asked) mode(w *work) (estimate, error) {
	buckets, number, err := a.buckets(w)
	if err != nil {
		return estimate{}, err
	}
	sums, err := answer.NewCounts(buckets, number)
	if err != nil {
		return estimate{}, err
	}
	noisy, err := a.ask(w, sums)
	if err != nil {
		return estimate{}, err
	}
	most := float64(slices.Index(noisy, slices.Max(noisy)))
	return scalar(most, around(most, 0)), nil
}
