package stats

import (
	"math"
	"slices"

	"dpsgd/configs"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/stat/distuv"
)

// count counts the records of a class, or those with a number in a range, with noise.
func (a *asked) count(w *work) (estimate, error) {
	sums, err := counting(w, a.Statistic)
	if err != nil {
		return estimate{}, err
	}
	noisy, err := w.noisy(a.noise(), sums)
	if err != nil {
		return estimate{}, err
	}
	return scalar(float64(noisy[0]), around(float64(noisy[0]), a.noise().within(1, miss))), nil
}

// counting returns the exact count of the statistic s, for noise to be added.
func counting(w *work, s configs.Statistic) (*answer.Sums, error) {
	columns, err := columns(w.records.config, s)
	if err != nil {
		return nil, err
	}
	class := slices.Index(w.records.config.Data.Learnt(), s.Equals)
	var ones []int64
	for r := range w.records.each() {
		counted := columns[0].Class && r.class() == class
		if s.Range.Given() {
			x := r.number(columns[0])
			counted = s.Range.Low <= x && x <= s.Range.High
		}
		if counted {
			ones = append(ones, 1)
		}
	}
	return answer.NewTotal(ones, 0, 1)
}

// aboveThreshold finds the first of several counts that reaches the threshold, each with noise: its
// number from 1, or 0 if none does. One event pays for the whole search.
func (a *asked) aboveThreshold(w *work) (estimate, error) {
	question, err := answer.AboveThreshold(int64(a.Threshold), 1, 1, a.epsilon/a.factor)
	if err != nil {
		return estimate{}, err
	}
	s, err := answer.Ask(w.desk, question)
	if err != nil {
		return estimate{}, err
	}
	for i, q := range a.Queries {
		sums, err := counting(w, q)
		if err != nil {
			return estimate{}, err
		}
		if above, err := s.Above(sums); above || err != nil {
			return scalar(float64(i+1), around(float64(i+1), 0)), err
		}
	}
	return scalar(0, around(0, 0)), nil
}

// around returns the interval of all numbers within a distance of x.
func around(x, distance float64) configs.Interval {
	return configs.Interval{Low: x - distance, High: x + distance}
}

// noisy returns the sums with the noise z added, which the desk enters into the ledger.
func (w *work) noisy(z additive, sums *answer.Sums) ([]int64, error) {
	q, err := noises[z.mechanism](sums, z.scale)
	if err != nil {
		return nil, err
	}
	return answer.Ask(w.desk, q)
}

// counts returns how many of the records in buckets are in each of number ones, with the noise z.
func (w *work) counts(z additive, buckets []int, number int) ([]int64, error) {
	sums, err := answer.NewCounts(buckets, number)
	if err != nil {
		return nil, err
	}
	return w.noisy(z, sums)
}

// vectors returns the noisy sum of one vector of each record, which fill writes. l1 and l2 bound
// the norms of these vectors. off is a number that the noise on a coordinate passes with a chance
// of at most miss.
func (a *asked) vectors(w *work, l1, l2 float64, coordinates int, miss float64, fill func(into []int64, r record)) (noisy []int64, off float64, err error) {
	z, bound, norm := a.noise(), answer.L1, math.Ceil(l1)
	if gaussian(z.mechanism) {
		bound, norm = answer.L2, math.Ceil(l2)
	}
	contribution := make([]int64, coordinates)
	sums, err := answer.NewSums(func(yield func([]int64) bool) {
		for r := range w.records.each() {
			if fill(contribution, r); !yield(contribution) {
				return
			}
		}
	}, coordinates, bound(int64(norm)))
	if err != nil {
		return nil, 0, err
	}
	noisy, err = w.noisy(z, sums)
	return noisy, z.within(norm, miss), err
}

// sum estimates the sum of a column: the sum of the differences of the records from the middle of
// the bounds, plus the middle times the number of records, which is public.
func (a *asked) sum(w *work) (estimate, error) {
	n := float64(w.records.public)
	mean, err := a.mean(w)
	for _, x := range [][]float64{mean.value, mean.low, mean.high} {
		for i := range x {
			x[i] *= n
		}
	}
	return mean, err
}

// mean estimates the mean of one or several columns, released as one vector.
func (a *asked) mean(w *work) (estimate, error) {
	d := len(a.columns)
	noisy, off, err := a.vectors(w, resolution*float64(d), resolution*math.Sqrt(float64(d)), d, miss, func(into []int64, r record) {
		for i, c := range a.columns {
			into[i] = steps(r.number(c), a.BoundsOf(i))
		}
	})
	if err != nil {
		return estimate{}, err
	}
	e := vector(d)
	e.one = !a.Many()
	for i, x := range noisy {
		b, mean := a.BoundsOf(i), share{float64(x), off}.of(w.records.public)
		e.set(i, b.Middle()+b.Half()*mean.value, configs.Interval{Low: b.Middle() + b.Half()*mean.low(), High: b.Middle() + b.Half()*mean.high()})
	}
	return e, nil
}

// share is a noisy number, a sum of steps or a mean, and off, the most that its noise moves it.
type share struct{ value, off float64 }

// of turns a sum of steps over n records into their mean, in units of half the width of the bounds.
// Rounding to steps may move it by half a step more.
func (s share) of(n int) share {
	whole := float64(max(1, n)) * resolution
	return share{s.value / whole, s.off/whole + 0.5/resolution}
}

func (s share) low() float64  { return s.value - s.off }
func (s share) high() float64 { return s.value + s.off }

// covariance estimates the covariance of every pair of columns, row after row, or the variance of
// one column. It asks for the sums of y and of y·y′, where y is a number in units of half the
// bounds of its column. Squares are moved by 1/2, to their middle, so that no contribution is
// longer than the one with all y = ±1.
func (a *asked) covariance(w *work) (estimate, error) {
	d := len(a.columns)
	pairs := d * (d - 1) / 2
	l1 := float64(d) + float64(d)/2 + float64(pairs)
	l2 := math.Sqrt(float64(d) + float64(d)/4 + float64(pairs))
	y := make([]float64, d)
	noisy, off, err := a.vectors(w, resolution*l1, resolution*l2, d+d+pairs, miss/3, func(into []int64, r record) {
		for i, c := range a.columns {
			y[i] = scaled(r.number(c), a.BoundsOf(i))
		}
		products(into, y)
	})
	if err != nil {
		return estimate{}, err
	}
	return a.covariances(noisy, d, off, w.records.public), nil
}

// products writes, in steps, every y[i], and then every y[i]·y[j] with j ≥ i, row by row, squares
// less 1/2. It rounds towards zero, so that no contribution is longer than the one of y = ±1.
func products(into []int64, y []float64) {
	at := len(y)
	for i := range y {
		into[i] = int64(y[i] * resolution)
		for j := i; j < len(y); j++ {
			product := y[i] * y[j]
			if i == j {
				product -= 0.5
			}
			into[at] = int64(product * resolution)
			at++
		}
	}
}

// covariances computes the d×d matrix from the noisy sums. off bounds the noise of each sum but for
// a third of the chance that an interval misses, as three sums make one covariance.
func (a *asked) covariances(noisy []int64, d int, off float64, n int) estimate {
	mean := make([]share, d)
	for i := range mean {
		mean[i] = share{float64(noisy[i]), off}.of(n)
		mean[i].off += 0.5 / resolution // towards zero is off by up to a step
	}
	e, at := vector(d*d), d
	for i := range d {
		for j := i; j < d; j++ {
			size, product := a.BoundsOf(i).Half()*a.BoundsOf(j).Half(), share{float64(noisy[at]), off}.of(n)
			product.off += 0.5 / resolution
			if at++; i == j {
				product.value += 0.5
			}
			least, most := productRange(mean[i], mean[j], i == j)
			interval := configs.Interval{Low: size * (product.low() - most), High: size * (product.high() - least)}
			value := size * (product.value - mean[i].value*mean[j].value)
			if i == j { // no variance is negative
				value, interval.Low, interval.High = max(0, value), max(0, interval.Low), max(0, interval.High)
			}
			e.set(i*d+j, value, interval)
			e.set(j*d+i, value, interval)
		}
	}
	e.one = d == 1
	return e
}

// productRange returns the least and the greatest product of x and y within their intervals. same
// says that x and y are one number, so that the product is a square.
func productRange(x, y share, same bool) (least, most float64) {
	corners := []float64{x.low() * y.low(), x.low() * y.high(), x.high() * y.low(), x.high() * y.high()}
	if same {
		corners = []float64{x.low() * x.low(), x.high() * x.high()}
		if x.low() < 0 && x.high() > 0 {
			corners = append(corners, 0)
		}
	}
	least, most = corners[0], corners[0]
	for _, c := range corners[1:] {
		least, most = min(least, c), max(most, c)
	}
	return least, most
}

// miss is the chance that an interval does not hold what the data says.
const miss = 0.05

// additive is a mechanism for sums with its scale, in units of the bound on what one record
// contributes.
type additive struct {
	mechanism string
	scale     float64 // of Laplace's law over the L1 bound, or the noise multiplier
}

// gaussian reports whether a mechanism bounds the L2 norm, and needs a δ.
func gaussian(mechanism string) bool {
	return mechanism == configs.Gaussian || mechanism == configs.DiscreteGaussian
}

// noises maps the mechanisms of sums to the functions that make their questions.
var noises = map[string]func(*answer.Sums, float64) (answer.Question[[]int64], error){
	configs.DiscreteLaplace: answer.DiscreteLaplace, configs.Laplace: answer.Laplace,
	configs.DiscreteGaussian: answer.DiscreteGaussian, configs.Gaussian: answer.Gaussian,
}

// within returns a number that the noise on one sum exceeds in size with a chance of at most miss.
// bound limits a record's contribution.
//
// For Laplace noise of scale b, P[|N| > t] is exp(-t/b); for rounded or discrete noise it is no
// more for whole t. For Gaussian noise it follows from the normal distribution, which rounding
// moves by half a step, and the discrete law falls off no slower (Canonne, Kamath, Steinke 2020,
// arXiv:2004.00010v4, Proposition 25).
func (z additive) within(bound, miss float64) float64 {
	if gaussian(z.mechanism) {
		return math.Ceil(distuv.UnitNormal.Quantile(1-miss/2)*z.scale*bound + 0.5)
	}
	return math.Ceil(math.Log(1/miss) * z.scale * bound)
}

// variance returns about the variance of the noise on a count.
func (z additive) variance() float64 {
	if gaussian(z.mechanism) {
		return z.scale * z.scale
	}
	return 2 * z.scale * z.scale
}

// noise returns the mechanism of a statistic with its scale at the statistic's part of the budget.
func (a *asked) noise() additive {
	if gaussian(a.Mechanism) {
		return additive{a.Mechanism, a.multiplier * a.factor}
	}
	return additive{a.Mechanism, a.factor / a.epsilon}
}
