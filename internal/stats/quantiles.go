package stats

import (
	"math"
	"slices"
	"sort"

	"dpsgd/configs"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/stat/distuv"
)

// quantiles estimates numbers below which given shares of the records lie: it chooses them among
// the edges of many equal parts of the bounds, or reads them off a noisy histogram.
func (a *asked) quantiles(w *work) (estimate, error) {
	buckets, number := a.buckets(w)
	read := a.readOff
	if a.Chosen() {
		read = a.choose
	}
	e, err := read(w, buckets, number)
	if err != nil {
		return estimate{}, err
	}
	for i := range e.value {
		at := configs.Interval{Low: min(e.low[i], e.value[i]), High: max(e.high[i], e.value[i])}
		if a.Bins > 0 || a.Chosen() {
			at = outward(at, a.Bounds.Interval, number)
		}
		e.set(i, e.value[i], at)
	}
	return e, nil
}

// best returns the mechanism, exponential or discrete_laplace, that errs less in the ranks of the
// quantiles of n records, on average over the quantiles. interval is the share of ε that this
// mechanism spends on the intervals around the quantiles: 0 for discrete_laplace. best reads no
// data. It compares median errors: ln 2 of the scale of a choice, and 0.67 of the deviation of
// noise.
func (a *asked) best(n int) (mechanism string, interval float64) {
	chosen, read := *a, *a
	chosen.Mechanism, chosen.Interval = configs.Exponential, configs.Intervals
	read.Mechanism = configs.DiscreteLaplace
	choice, noise := 0.0, 0.0
	for _, q := range a.Quantiles {
		choice += math.Ln2 * chosen.scale(q)
		noise += 0.67 * math.Sqrt(read.noise().variance()*float64(read.places(n))*q*(1-q))
	}
	if choice <= noise {
		return chosen.Mechanism, chosen.Interval
	}
	return read.Mechanism, 0
}

// scale returns the scale of the error, in records, with which quantile q is chosen.
func (a *asked) scale(q float64) float64 { return 2 * max(q, 1-q) / a.each() }

// each returns the ε that goes into the choice of one quantile.
func (a *asked) each() float64 {
	return (1 - a.Interval) * a.epsilon / a.factor / float64(len(a.Quantiles))
}

// choose spends a part of the statistic's ε on noisy counts of parts of the bounds, from which the
// intervals are made, and the rest in equal parts on the choice of every quantile.
//
// Where records lie dense, the number t of records between a quantile and the edge chosen for it
// has the tail exp(-t/b), where b is the scale of the choice: it passes b·ln(1/miss) with chance
// miss. The curve of the counts turns that number into a distance. The curve itself errs by the
// noise of the counts, and by where records happen to lie, whose variance is their number. To first
// order, a variance V of t makes the tail exp(-t/b + V/2b²), so t is enlarged by V/2b; at most
// doubled, as the counts may say little.
func (a *asked) choose(w *work, buckets []int, number int) (estimate, error) {
	z := additive{configs.DiscreteLaplace, a.factor / (a.Interval * a.epsilon)}
	b, n := a.Bounds.Interval, w.records.public
	parts, part := min(number, partsFor(n, z)), make([]int, len(buckets))
	for i, b := range buckets {
		part[i] = b * parts / number
	}
	counts, err := w.counts(z, part, parts)
	if err != nil {
		return estimate{}, err
	}
	c, e := newCurve(counts, n, b), vector(len(a.Quantiles))
	for i, q := range a.Quantiles {
		chosen, err := a.chosen(w, buckets, number, q)
		if err != nil {
			return estimate{}, err
		}
		scale := a.scale(q)
		tail := scale * math.Log(1/miss)
		value := edge(chosen, b, number)
		e.set(i, value, c.interval(value, c.at(value), func(parts float64) float64 {
			variance := tail + z.variance()/2*min(parts, parts*parts)
			return tail + min(tail, variance/(2*scale))
		}))
	}
	return e, nil
}

// partsFor returns in how many parts of the bounds to count n records. With N parts the noise of a
// rank is about scale·√N, and the error from a density that changes within a part is in proportion
// to n/N². The power 0.4 balances the two; the factor 3 is for records that fill a third of the
// bounds.
func partsFor(n int, z additive) int {
	return int(min(max(3*math.Pow(float64(n)/z.scale, 0.4), 16), 1024))
}

// places returns into how many equal parts the bounds are split to search for a quantile of n
// records. A choice among more candidates costs no more ε.
func (a *asked) places(n int) int {
	switch {
	case a.Bins > 0:
		return a.Bins
	case a.Chosen():
		return 1 << 16
	}
	return partsFor(n, a.noise())
}

// chosen returns the index, 0 to number, of an edge near quantile q, chosen by the mechanism.
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
	question, err := choices[a.Mechanism](scores, a.each())
	if err != nil {
		return 0, err
	}
	return answer.Ask(w.desk, question)
}

// ranks is the denominator in which a share of the records is written.
const ranks = 1 << 16

// choices maps the mechanisms that choose to the functions that make their questions.
var choices = map[string]func(*answer.Scores, float64) (answer.Question[int], error){
	configs.Exponential: answer.Exponential, configs.PermuteAndFlip: answer.PermuteAndFlip, configs.NoisyMax: answer.NoisyMax,
}

// readOff reads quantiles off the curve of noisy counts. It errs by the noise of the counts on both
// sides, whose sum is known, and by where the records lie in their part: independently, in the
// worst case.
func (a *asked) readOff(w *work, buckets []int, number int) (estimate, error) {
	z, n := a.noise(), w.records.public
	counts, err := w.counts(z, buckets, number)
	if err != nil {
		return estimate{}, err
	}
	c, e := newCurve(counts, n, a.Bounds.Interval), vector(len(a.Quantiles))
	for i, q := range a.Quantiles {
		value := c.inverse(q * float64(n))
		place := c.place(value)
		within := place - math.Floor(place)
		noise := z.variance() * max(1, place*(1-place/float64(number)))
		off := distuv.UnitNormal.Quantile(1-miss/2)*math.Sqrt(noise+c.part(value)*within*(1-within)) + 0.5
		e.set(i, value, c.interval(value, q*float64(n), func(float64) float64 { return off }))
	}
	return e, nil
}

// median releases the median of a column if a test finds that no record moves it by more than the
// proposed step, and otherwise nothing. Half of the ε pays for the test, half for Laplace noise in
// proportion to the step.
func (a *asked) median(w *work) (estimate, error) {
	var values []int64
	for r := range w.records.each() {
		values = append(values, steps(r.number(a.columns[0]), a.Bounds.Interval))
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
	off := additive{configs.DiscreteLaplace, 2 / epsilon}.within(float64(step), miss) + 1
	value := float64(tested.Value)
	return scalar(number(value), configs.Interval{Low: number(value - off), High: number(value + off)}), nil
}

// curve estimates, in below, how many records are below each edge of equal parts of the bounds, the
// low end first. It does not fall.
type curve struct {
	below  []float64
	bounds configs.Interval
}

// newCurve makes a curve of noisy counts of the parts. It replaces them by the nearest counts, in
// the sum of squares, that are not negative and add up to n, the public number of records: each
// count less the same number, or zero. Computing with noisy counts costs nothing.
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

// place returns where x is in the bounds: 0 at the low end, and one more with each part.
func (c curve) place(x float64) float64 {
	return (x - c.bounds.Low) / (c.bounds.High - c.bounds.Low) * float64(len(c.below)-1)
}

// at returns the number of records below x. The records of a part lie evenly in it.
func (c curve) at(x float64) float64 {
	place := c.place(x)
	i := min(int(place), len(c.below)-2)
	return c.below[i] + c.part(x)*(place-float64(i))
}

// part returns how many records share x's part of the bounds.
func (c curve) part(x float64) float64 {
	i := min(int(c.place(x)), len(c.below)-2)
	return c.below[i+1] - c.below[i]
}

// inverse returns the number below which so many records lie: the low end of the bounds for none or
// less, the high end for all or more.
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

// interval returns the numbers around x whose ranks differ from the rank of x, records, by at most
// off. off may depend on how many parts the end is away from x; it is asked with 0 first.
func (c curve) interval(x, records float64, off func(parts float64) float64) configs.Interval {
	low := c.inverse(records - off(0))
	high := c.inverse(records + off(0))
	return configs.Interval{
		Low:  c.inverse(records - off(c.place(x)-c.place(low))),
		High: c.inverse(records + off(c.place(high)-c.place(x))),
	}
}

// outward widens i to edges of so many equal parts of b: between two, nobody knows where records
// lie.
func outward(i, b configs.Interval, places int) configs.Interval {
	at := func(x float64) float64 { return (x - b.Low) / (b.High - b.Low) * float64(places) }
	return configs.Interval{
		Low:  edge(int(math.Floor(at(i.Low)+1e-9)), b, places),
		High: edge(min(int(math.Ceil(at(i.High)-1e-9)), places), b, places),
	}
}
