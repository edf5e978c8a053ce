package stats

import (
	"math"

	"dpsgd/configs"
)

// histogram counts the records of every class, or in every one of equal parts of the bounds.
func (a *asked) histogram(w *work) (estimate, error) {
	if a.Trust != configs.Curator {
		return a.local(w)
	}
	buckets, number := a.buckets(w)
	noisy, err := w.counts(a.noise(), buckets, number)
	if err != nil {
		return estimate{}, err
	}
	e := vector(number)
	for i, x := range noisy {
		e.set(i, float64(x), around(float64(x), a.noise().within(1, miss)))
	}
	return e, nil
}

// buckets returns the index of every record's bucket, and the number of buckets, which are classes
// or equal parts of the bounds.
func (a *asked) buckets(w *work) (buckets []int, number int) {
	number = a.Bins
	if a.Kind == configs.StatQuantiles {
		number = a.places(w.records.public)
	}
	if a.columns[0].Class {
		number = len(w.records.config.Data.Learnt())
	}
	for r := range w.records.each() {
		if a.columns[0].Class {
			buckets = append(buckets, r.class())
		} else {
			buckets = append(buckets, bucket(r.number(a.columns[0]), a.Bounds.Interval, number))
		}
	}
	return buckets, number
}

// bucket returns which of number equal parts of the bounds holds x. A part holds its low end, and
// the last one its high end, too.
func bucket(x float64, b configs.Interval, number int) int {
	at := math.Floor((b.Nearest(x) - b.Low) / (b.High - b.Low) * float64(number))
	return min(int(at), number-1)
}

// edge returns the low end of bucket i of number equal ones of b; the high end of b if i is number.
func edge(i int, b configs.Interval, number int) float64 {
	if i == number {
		return b.High
	}
	return b.Low + (b.High-b.Low)*float64(i)/float64(number)
}
