package stats

import "slices"

// mode is the class that most records have, or the part of the bounds that most numbers lie in, by
// noisy counts.
func (a *asked) mode(w *work) (estimate, error) {
	buckets, number := a.buckets(w)
	noisy, err := w.counts(a.noise(), buckets, number)
	if err != nil {
		return estimate{}, err
	}
	most := float64(slices.Index(noisy, slices.Max(noisy)))
	return scalar(most, around(most, 0)), nil
}
