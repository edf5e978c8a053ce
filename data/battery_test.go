package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsgd/internal/random"
)

// The battery looks at many batches and asks whether they could come from Poisson sampling. Each of
// its statistics falsely rejects a true Poisson sampler with a probability of 1e-5: a normal
// deviate past ±4.41717, or a chi-square outside its quantiles at 0.5e-5 and 1−0.5e-5. (Deviates
// are sums of at least 20,000 terms.) The sources here are seeded, so a result repeats.
const normalBound = 4.41717

// record keeps which records each batch had.
type record struct {
	n       int
	q       float64
	batches [][]int
}

func observe(n int, q float64, steps int, sample func(step int) []int) *record {
	r := &record{n: n, q: q}
	for t := range steps {
		r.batches = append(r.batches, append([]int(nil), sample(t)...))
	}
	return r
}

// size compares mean and variance of the batch size with n·q and n·q·(1−q). The
// variance also carries the covariance of all pairs of records.
func (r *record) size() (mean, variance float64) {
	steps := float64(len(r.batches))
	wantMean, wantVariance := float64(r.n)*r.q, float64(r.n)*r.q*(1-r.q)
	sum, squares := 0.0, 0.0
	for _, b := range r.batches {
		d := float64(len(b)) - wantMean
		sum += d
		squares += d * d
	}
	// The fourth moment of a binomial: excess kurtosis (1 − 6q(1−q)) / (n·q·(1−q)).
	kurtosis := (1 - 6*r.q*(1-r.q)) / wantVariance
	return sum / math.Sqrt(steps*wantVariance), (squares/steps/wantVariance - 1) / math.Sqrt((2+kurtosis)/steps)
}

// empty compares the number of empty batches with (1−q)ⁿ of them.
func (r *record) empty() float64 {
	count := 0.0
	for _, b := range r.batches {
		if len(b) == 0 {
			count++
		}
	}
	p, steps := math.Pow(1-r.q, float64(r.n)), float64(len(r.batches))
	return (count - steps*p) / math.Sqrt(steps*p*(1-p))
}

// inclusions is the chi-square, with n degrees of freedom, of how often each record joined.
func (r *record) inclusions() float64 {
	counts := make([]float64, r.n)
	for _, b := range r.batches {
		for _, i := range b {
			counts[i]++
		}
	}
	want := float64(len(r.batches)) * r.q
	x := 0.0
	for _, c := range counts {
		x += (c - want) * (c - want) / (want * (1 - r.q))
	}
	return x
}

// gaps is the chi-square of the number of steps between two batches of one record,
// over the first few gaps of each, against the geometric distribution; gaps of 60
// and more are counted together. It has 59 degrees of freedom.
func (r *record) gaps(each int) float64 {
	const bins = 60
	last, seen := make([]int, r.n), make([]int, r.n)
	for i := range last {
		last[i] = -1
	}
	var counts [bins]float64
	total := 0.0
	for t, b := range r.batches {
		for _, i := range b {
			if last[i] >= 0 && seen[i] < each {
				counts[min(t-last[i], bins)-1]++
				seen[i]++
				total++
			}
			last[i] = t
		}
	}
	x := 0.0
	for g, c := range counts {
		want := total * r.q * math.Pow(1-r.q, float64(g))
		if g == bins-1 {
			want = total * math.Pow(1-r.q, float64(g))
		}
		x += (c - want) * (c - want) / want
	}
	return x
}

// together is the covariance of records i and i+distance (mod n) in one batch
// (later = 0), or of i in one batch and i+distance in the next (later = 1), summed
// over all i and steps, as a normal deviate.
func (r *record) together(distance, later int) float64 {
	member := make([]bool, r.n)
	sum, terms := 0.0, 0.0
	for t := 0; t+later < len(r.batches); t++ {
		here, there := r.batches[t], r.batches[t+later]
		for _, i := range there {
			member[i] = true
		}
		both := 0
		for _, i := range here {
			if member[(i+distance)%r.n] {
				both++
			}
		}
		for _, i := range there {
			member[i] = false
		}
		// Σᵢ (xᵢ − q)(yᵢ − q) with the sums of x, y and x·y.
		sum += float64(both) - r.q*float64(len(here)+len(there)) + r.q*r.q*float64(r.n)
		terms += float64(r.n)
	}
	return sum / (r.q * (1 - r.q) * math.Sqrt(terms))
}

// autocorrelation of the batch size at lag 1.
func (r *record) autocorrelation() float64 {
	mean := float64(r.n) * r.q
	sum := 0.0
	for t := 1; t < len(r.batches); t++ {
		sum += (float64(len(r.batches[t-1])) - mean) * (float64(len(r.batches[t])) - mean)
	}
	return sum / (mean * (1 - r.q) * math.Sqrt(float64(len(r.batches)-1)))
}

// rejections names the statistics that are out of bounds. Batches that are almost
// never empty are tested on everything else; small ones, which are almost always
// empty, on what is close to normal: mean size and number of empty ones.
func (r *record) rejections() []string {
	var out []string
	deviate := func(name string, z float64) {
		if !(math.Abs(z) <= normalBound) {
			out = append(out, fmt.Sprintf("%s (%.1f standard deviations)", name, z))
		}
	}
	chiSquare := func(name string, x float64, degrees int) {
		d := distuv.ChiSquared{K: float64(degrees)}
		if !(x >= d.Quantile(0.5e-5) && x <= d.Quantile(1-0.5e-5)) {
			out = append(out, fmt.Sprintf("%s (chi-square %.0f with %d degrees of freedom)", name, x, degrees))
		}
	}
	mean, variance := r.size()
	deviate("mean size", mean)
	if float64(r.n)*r.q < 1 {
		deviate("empty batches", r.empty())
		return out
	}
	deviate("variance of size", variance)
	chiSquare("inclusions", r.inclusions(), r.n)
	chiSquare("gaps", r.gaps(int(float64(len(r.batches))*r.q)/2), 59)
	for _, distance := range []int{1, 2, 7, r.n / 2} {
		deviate(fmt.Sprintf("pairs at distance %d", distance), r.together(distance, 0))
	}
	deviate("pairs of neighbouring batches", r.together(1, 1))
	deviate("repetition in the next batch", r.together(0, 1))
	deviate("autocorrelation of size", r.autocorrelation())
	return out
}

const (
	batteryN     = 1000
	batteryQ     = 0.05 // variance 47.5 ± 4.4 % over 20,000 steps
	batterySteps = 20000
	twinSteps    = 5000 // enough to see through a broken one
)

func TestPoissonPassesTheBattery(t *testing.T) {
	for _, c := range []struct {
		n int
		q float64
	}{{batteryN, batteryQ}, {10, 0.01}} {
		src := random.Seeded(3)
		r := observe(c.n, c.q, batterySteps, func(int) []int { return sampled(t, Poisson{c.q}, nil, c.n, src) })
		if bad := r.rejections(); len(bad) > 0 {
			t.Errorf("n=%d, q=%v: rejected by %v", c.n, c.q, bad)
		}
	}
}

// Samplers that are broken in the ways of real code are rejected, each by a
// statistic that is made for it.
func TestTheBatteryRejectsBrokenTwins(t *testing.T) {
	const size = batteryN * batteryQ
	rng := rand.New(random.Seeded(4))
	src := random.Seeded(5)
	order := rng.Perm(batteryN)
	for name, c := range map[string]struct {
		n      int
		q      float64
		sample func(t *testing.T, step int) []int
		by     string
	}{
		"shuffled": {batteryN, batteryQ, func(t *testing.T, step int) []int {
			at := step * size % batteryN
			if at == 0 {
				rng.Shuffle(batteryN, func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			return order[at : at+size]
		}, "variance of size"},
		"fixed size": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			for i := range int(size) {
				j := i + rng.IntN(batteryN-i)
				order[i], order[j] = order[j], order[i]
			}
			return order[:size]
		}, "variance of size"},
		"fixed seed": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			return sampled(t, Poisson{batteryQ}, nil, batteryN, random.Seeded(9))
		}, "inclusions"},
		"every second batch repeated": {batteryN, batteryQ, func(t *testing.T, step int) []int {
			return sampled(t, Poisson{batteryQ}, nil, batteryN, random.Seeded(100+uint64(step/2)))
		}, "repetition in the next batch"},
		"records join in pairs": {batteryN, batteryQ, func(t *testing.T, _ int) (batch []int) {
			for _, i := range sampled(t, Poisson{batteryQ}, nil, batteryN/2, src) {
				batch = append(batch, 2*i, 2*i+1)
			}
			return batch
		}, "pairs at distance 1"},
		"q too large by 2 %": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			return sampled(t, Poisson{1.02 * batteryQ}, nil, batteryN, src)
		}, "mean size"},
		"one record preferred": {batteryN, batteryQ, func(t *testing.T, _ int) []int {
			batch := sampled(t, Poisson{batteryQ}, nil, batteryN, src)
			if len(batch) > 0 && batch[0] != 0 && rng.IntN(10) == 0 {
				batch = append([]int{0}, batch...)
			}
			return batch
		}, "inclusions"},
		"empty batches skipped": {10, 0.01, func(t *testing.T, _ int) []int {
			for range 1000 { // all empty with a probability of 1e-44
				if batch := sampled(t, Poisson{0.01}, nil, 10, src); len(batch) > 0 {
					return batch
				}
			}
			t.Fatal("1,000 empty batches in a row")
			return nil
		}, "empty batches"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := observe(c.n, c.q, twinSteps, func(step int) []int { return c.sample(t, step) }).rejections()
			for _, b := range bad {
				if len(b) >= len(c.by) && b[:len(c.by)] == c.by {
					return
				}
			}
			t.Errorf("not rejected by %q, only by %v", c.by, bad)
		})
	}
}
