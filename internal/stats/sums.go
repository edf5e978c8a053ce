package stats

import (
	"math"
	"slices"

	"dpsgd/configs"
	"dpsgd/release/answer"

	"gonum.org/v1/gonum/stat/distuv"
)

// count counts the records of a class, or with a number in a range, with noise.
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

// counting returns the sum that counts the records which a count asks for.
func counting(w *work, s configs.Statistic) (*answer.Sums, error) {
	columns, err := columns(w.records.config, s)
	if err != nil {
		return nil, err
	}
	class := slices.Index(w.records.config.Data.Labels(), s.Equals)
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

// aboveThreshold is the place of the first count that reaches the threshold, each with its noise,
// from 1, and 0 if none does. All that it says is paid for at once.
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

// around is the interval of all numbers that are at most so far away.
func around(x, distance float64) configs.Interval {
	return configs.Interval{Low: x - distance, High: x + distance}
}

// noisy asks for sums with noise.
func (w *work) noisy(z additive, sums *answer.Sums) ([]int64, error) {
	q, err := noises[z.mechanism](sums, z.scale)
	if err != nil {
		return nil, err
	}
	return answer.Ask(w.desk, q)
}

// counts asks how many records are in each bucket.
func (w *work) counts(z additive, buckets []int, number int) ([]int64, error) {
	sums, err := answer.NewCounts(buckets, number)
	if err != nil {
		return nil, err
	}
	return w.noisy(z, sums)
}

// vectors asks for the sum of contributions that have at most these norms, each filled in of a record. It also
// returns what the noise on a number stays within but for a chance of miss.
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

// share is a noisy sum of steps, and what its noise does not pass. As a mean of so many records it
// is a number in units of half the width of the bounds, off by at most half a step of rounding
// more.
type share struct{ value, off float64 }

func (s share) of(n int) share {
	whole := float64(max(1, n)) * resolution
	return share{s.value / whole, s.off/whole + 0.5/resolution}
}

func (s share) low() float64  { return s.value - s.off }
func (s share) high() float64 { return s.value + s.off }

// covariance estimates the covariance of every pair of columns, row after row; variance estimates
// the variance of one column. Both come from the sums of y and of y·y′, where y is a number in
// units of half the bounds of its column. A contribution is at most as long as the one with all y =
// ±1, because squares are moved to their middle 1/2.
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

// products fills in the steps of every y, and of every product of two, squares less 1/2. They are
// rounded towards zero, so that no contribution is longer than the one of y = ±1.
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

// covariances makes the matrix of the noisy sums. Three of them make a covariance, none of which is
// off by more than a distance but for a third of the chance that an interval misses.
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

// productRange are the least and the greatest product of two numbers in their intervals, which are
// one number where same says so.
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

// additive is the noise of sums, in units of the bound on what one record contributes.
type additive struct {
	mechanism string
	scale     float64 // of Laplace's law over the L1 bound, or the noise multiplier
}

// gaussian reports whether the bound is one of the L2 norm, and a δ is needed.
func gaussian(mechanism string) bool {
	return mechanism == configs.Gaussian || mechanism == configs.DiscreteGaussian
}

// noises are the mechanisms of sums.
var noises = map[string]func(*answer.Sums, float64) (answer.Question[[]int64], error){
	configs.DiscreteLaplace: answer.DiscreteLaplace, configs.Laplace: answer.Laplace,
	configs.DiscreteGaussian: answer.DiscreteGaussian, configs.Gaussian: answer.Gaussian,
}

// within returns a number that the noise on one sum stays within, up and down, with a chance of 1 -
// miss. bound limits a record's contribution.
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

// variance returns about the variance of the noise on a sum of ones.
func (z additive) variance() float64 {
	if gaussian(z.mechanism) {
		return z.scale * z.scale
	}
	return 2 * z.scale * z.scale
}

// noise of a statistic's mechanism at its budget.
func (a *asked) noise() additive {
	if gaussian(a.Mechanism) {
		return additive{a.Mechanism, a.multiplier * a.factor}
	}
	return additive{a.Mechanism, a.factor / a.epsilon}
}
