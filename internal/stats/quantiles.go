package stats

import (
	"math"
	"slices"
	"sort"

	"dpsgd/configs"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/stat/distuv"
)

// quantiles are numbers that a share of the records lies below: chosen among the edges of many
// places, or read off a noisy histogram of them.
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

// best returns the mechanism with which the ranks of the quantiles are less off on average, going by what
// is public: by half of the draws a choice is off by more than ln 2 of its scale, and noise by more
// than 0.67 of its deviation.
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

// scale returns the scale of the noise, in records, in the choice of one of the statistic's
// quantiles.
func (a *asked) scale(q float64) float64 { return 2 * max(q, 1-q) / a.each() }

func (a *asked) each() float64 {
	return (1 - a.Interval) * a.epsilon / a.factor / float64(len(a.Quantiles))
}

// choose chooses every quantile for the same part of what the statistic may cost, less what the
// noisy counts of some parts of the bounds cost that the intervals are made of.
//
// Where records lie dense, the number of records between a quantile and the edge that is chosen for
// it has the tail exp(-t/b), b being the scale of the choice: t = b·ln(1/miss) are passed by miss.
// How far that is says the curve of the counts. It is off by their noise, and numbers lie by chance
// more or less dense than it has them, by a variance of as many as they are. To first order, a
// variance V of t makes the chance exp(-t/b + V/2b²), so that t has to be V/2b more; at most twice
// what it was, where the counts say little.
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

// partsFor returns in how many parts of the bounds to count n records. With N parts a rank's noise
// is about scale·√N, and what a rank is off where the density of records changes within a part is in
// proportion to n/N²: the power is that at which both are alike. The factor leaves room for records
// that fill a third of the bounds.
func partsFor(n int, z additive) int {
	return int(min(max(3*math.Pow(float64(n)/z.scale, 0.4), 16), 1024))
}

// places is among how many equal parts of the bounds a quantile is searched for. A choice among more
// candidates costs no more.
func (a *asked) places(n int) int {
	switch {
	case a.Bins > 0:
		return a.Bins
	case a.Chosen():
		return 1 << 16
	}
	return partsFor(n, a.noise())
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
	question, err := choices[a.Mechanism](scores, a.each())
	if err != nil {
		return 0, err
	}
	return answer.Ask(w.desk, question)
}

// ranks is the denominator of the shares that ranks are compared with.
const ranks = 1 << 16

// choices are the mechanisms that choose.
var choices = map[string]func(*answer.Scores, float64) (answer.Question[int], error){
	configs.Exponential: answer.Exponential, configs.PermuteAndFlip: answer.PermuteAndFlip, configs.NoisyMax: answer.NoisyMax,
}

// readOff reads quantiles off the curve of noisy counts. What it says is off by the noise of the
// counts on both sides, as they add up to a number that is known, and by where in their part the
// records lie, which are independent in the worst case.
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
// proposed step, and otherwise nothing. Half of its ε pays for the test, half for Laplace noise
// that is as wide as the step asks.
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

// part returns how many records share x's part of the bounds.
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
