package battery

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// record keeps which records each batch had.
type record struct {
	n       int
	q       float64
	batches [][]int
}

// Poisson looks at so many samples of records 0 to n-1, which are to come from Poisson sampling with
// probability q, and returns the statements that they break. It knows at most [PoissonStatements]
// of them: each is a normal deviate past ±[Limit], or a chi-square outside its quantiles at 0.5e-5
// and 1−0.5e-5. (Deviates are to be sums of at least 20,000 terms.)
func Poisson(n int, q float64, steps int, sample func(step int) []int) []string {
	r := &record{n: n, q: q}
	for t := range steps {
		r.batches = append(r.batches, slices.Clone(sample(t)))
	}
	return r.rejections()
}

// PoissonStatements is how many statements [Poisson] makes at most.
const PoissonStatements = 11

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

// gaps is the chi-square of the number of steps between two batches of one record, over the first
// few gaps of each, against the geometric distribution, and its degrees of freedom. Gaps of which
// fewer than 20 are expected, and those of 60 and more, are counted together.
func (r *record) gaps(each int) (x float64, degrees int) {
	last, seen := make([]int, r.n), make([]int, r.n)
	for i := range last {
		last[i] = -1
	}
	var counts [60]float64
	total := 0.0
	for t, b := range r.batches {
		for _, i := range b {
			if last[i] >= 0 && seen[i] < each {
				counts[min(t-last[i], len(counts))-1]++
				seen[i]++
				total++
			}
			last[i] = t
		}
	}
	for rest := counts[:]; len(rest) > 0; degrees++ {
		here, want := rest[0], total*r.q*math.Pow(1-r.q, float64(degrees))
		if rest = rest[1:]; len(rest) == 0 || want*(1-r.q) < 20 {
			for _, more := range rest {
				here += more
			}
			rest, want = nil, want/r.q // of this gap and all longer ones
		}
		x += (here - want) * (here - want) / want
	}
	return x, degrees - 1
}

// together is the covariance of records i and i+distance (mod n) in one batch
// (later = 0), or of i in one batch and i+distance in the next (later = 1), summed
// over all i and steps, as a normal deviate.
func (r *record) together(distance, later int) float64 {
	member := make([]bool, r.n)
	sum, terms, times := 0.0, 0.0, 1.0
	if later == 0 && 2*distance == r.n {
		times = 2 // i and i+distance are the pair of i+distance too
	}
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
		terms += times * float64(r.n)
	}
	return sum / (r.q * (1 - r.q) * math.Sqrt(terms))
}

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
	var out broken
	mean, variance := r.size()
	out.deviate("mean size", mean)
	if float64(r.n)*r.q < 1 {
		out.deviate("empty batches", r.empty())
		return out
	}
	out.deviate("variance of size", variance)
	out.chiSquare("inclusions", r.inclusions(), r.n)
	if gaps, degrees := r.gaps(int(float64(len(r.batches))*r.q) / 2); degrees > 0 { // else there are too few
		out.chiSquare("gaps", gaps, degrees)
	}
	for _, distance := range []int{1, 2, 7, r.n / 2} {
		out.deviate(fmt.Sprintf("pairs at distance %d", distance), r.together(distance, 0))
	}
	out.deviate("pairs of neighbouring batches", r.together(1, 1))
	out.deviate("repetition in the next batch", r.together(0, 1))
	out.deviate("autocorrelation of size", r.autocorrelation())
	return out
}

// broken lists the statements that samples break.
type broken []string

func (b *broken) deviate(name string, z float64) {
	if !(math.Abs(z) <= Limit) {
		*b = append(*b, fmt.Sprintf("%s (%.1f standard deviations)", name, z))
	}
}

func (b *broken) chiSquare(name string, x float64, degrees int) {
	d := distuv.ChiSquared{K: float64(degrees)}
	if !(x >= d.Quantile(0.5e-5) && x <= d.Quantile(1-0.5e-5)) {
		*b = append(*b, fmt.Sprintf("%s (chi-square %.0f with %d degrees of freedom)", name, x, degrees))
	}
}

// BallsInBins looks at the samples of so many epochs, of bins steps each, of records 0 to n-1, which
// are to come from balls in bins, and returns the statements that they break, at most
// [BinsStatements]. That a record is not in exactly one sample of an epoch is broken for sure; the
// others are as in [Poisson].
func BallsInBins(n, bins, epochs int, sample func(step int) []int) []string {
	of := make([][]int, epochs) // the bin of every record in every epoch
	for e := range of {
		of[e] = make([]int, n)
		for bin := range bins {
			for _, i := range sample(e*bins + bin) {
				if i < 0 || i >= n || of[e][i] != 0 {
					return []string{fmt.Sprintf("record %d is in two samples of an epoch, or not there", i)}
				}
				of[e][i] = bin + 1
			}
		}
		for i, bin := range of[e] {
			if bin == 0 {
				return []string{fmt.Sprintf("record %d is in no sample of an epoch", i)}
			}
		}
	}
	b := allotted{of, n, bins}
	var out broken
	out.chiSquare("bins of each record", b.uniform(), n*(bins-1))
	out.chiSquare("sizes of bins", b.sizes(), epochs*(bins-1))
	for _, distance := range []int{1, 2, 7, n / 2} {
		out.deviate(fmt.Sprintf("pairs at distance %d in one bin", distance), b.together(distance, 0))
	}
	out.deviate("the same bin in the next epoch", b.together(0, 1))
	out.deviate("the bin of the neighbour in the next epoch", b.together(1, 1))
	return out
}

// BinsStatements is how many statements [BallsInBins] makes at most that the right law can break.
const BinsStatements = 8

// allotted holds the bins of records, counted from 1, in each epoch.
type allotted struct {
	of      [][]int
	n, bins int
}

// uniform returns the chi-square of how often each record was in each bin.
func (b allotted) uniform() (x float64) {
	expected := float64(len(b.of)) / float64(b.bins)
	for i := range b.n {
		counts := make([]float64, b.bins)
		for _, bins := range b.of {
			counts[bins[i]-1]++
		}
		for _, c := range counts {
			x += (c - expected) * (c - expected) / expected
		}
	}
	return x
}

// sizes returns the chi-square of the sizes of all samples, which pairs that share bins too often
// or too seldom move.
func (b allotted) sizes() (x float64) {
	expected := float64(b.n) / float64(b.bins)
	for _, bins := range b.of {
		counts := make([]float64, b.bins)
		for _, bin := range bins {
			counts[bin-1]++
		}
		for _, c := range counts {
			x += (c - expected) * (c - expected) / expected
		}
	}
	return x
}

// together compares how often record i and record i+distance (mod n), so many epochs later, were in
// the same bin with a chance of 1/bins for each pair, as a normal deviate. Pairs are independent of
// each other; at distance n/2 of one epoch each of them is there twice, for an even n.
func (b allotted) together(distance, later int) float64 {
	same, pairs := 0.0, 0.0
	for e := range len(b.of) - later {
		for i, bin := range b.of[e] {
			pairs++
			if b.of[e+later][(i+distance)%b.n] == bin {
				same++
			}
		}
	}
	q, twice := 1/float64(b.bins), 1.0
	if later == 0 && 2*distance == b.n {
		twice = 2
	}
	return (same - pairs*q) / math.Sqrt(twice*pairs*q*(1-q))
}
