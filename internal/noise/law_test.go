package noise

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"dpsgd/internal/random"
	"dpsgd/internal/slow"
)

// falseFailure is the probability with which each statistical test here rejects the right noise.
// The sources are seeded: a test that passes today passes tomorrow.
const falseFailure = 1e-5

// draws is the size of the tests of the law; the environment variable DPSGD_DRAWS sets another one:
//
//	DPSGD_DRAWS=1000000000 go test -run Law -v ./internal/noise
func draws(t *testing.T) int { return slow.Number(t, "DPSGD_DRAWS", 10_000_000, 1_000_000_000) }

// upperTail is P[Z > z] for a standard normal Z.
func upperTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// between is P[from <= N < to] for integer noise N of the law, without cancellation in either tail.
func between(from, to, deviation float64) float64 {
	a, b := (from-0.5)/deviation, (to-0.5)/deviation
	if b <= 0 {
		a, b = -b, -a
	}
	return upperTail(a) - upperTail(b)
}

// histogram counts integers: the bins of the given width around zero and a bin beyond them on
// either side.
type histogram struct {
	deviation float64
	width     int
	counts    []int
}

func newHistogram(deviation float64, width, bins int) *histogram {
	return &histogram{deviation, width, make([]int, 2*bins+2)}
}

func (h *histogram) add(noise float64) {
	bin := int(math.Floor(noise/float64(h.width))) + len(h.counts)/2
	h.counts[max(0, min(len(h.counts)-1, bin))]++
}

// edge is the first integer of a bin.
func (h *histogram) edge(bin int) float64 {
	switch {
	case bin == 0:
		return math.Inf(-1)
	case bin == len(h.counts):
		return math.Inf(1)
	}
	return float64((bin - len(h.counts)/2) * h.width)
}

// pValue returns the p-value of Pearson's chi-square test against the law.
func (h *histogram) pValue() float64 {
	expected := make([]float64, len(h.counts))
	total := 0
	for _, c := range h.counts {
		total += c
	}
	for bin := range expected {
		expected[bin] = float64(total) * between(h.edge(bin), h.edge(bin+1), h.deviation)
	}
	return chiSquare(h.counts, expected)
}

// chiSquare is the p-value of counts. Neighbouring bins with less than 10 expected are taken
// together.
func chiSquare(counts []int, expected []float64) float64 {
	var statistic, count, want float64
	freedom := -1.0
	for bin := range counts {
		count += float64(counts[bin])
		want += expected[bin]
		var left float64
		for _, e := range expected[bin+1:] {
			if left += e; left >= 10 {
				break
			}
		}
		if want >= 10 && left >= 10 || bin == len(counts)-1 {
			statistic += (count - want) * (count - want) / want
			freedom++
			count, want = 0, 0
		}
	}
	return mathext.GammaIncRegComp(freedom/2, statistic/2)
}

// threads draw, each from a seed of its own: as many on every machine, so that the draws are the same.
const threads = 2

// each draws n values of noise on some threads and passes blocks of them to the function that start
// returns for the thread.
func each(n int, deviation float64, start func(thread int) func(noise []float64)) {
	var done sync.WaitGroup
	for thread := range threads {
		done.Go(func() {
			var a Adder
			src, zeros, noise := random.ForTest(uint64(thread)), make([]float64, 8*Block), make([]float64, 8*Block)
			consume := start(thread)
			for range n / threads / len(noise) {
				a.Add(noise, zeros, zeros, deviation, 1, src)
				consume(noise)
			}
		})
	}
	done.Wait()
}

// fill counts n values of noise of the given deviation, changed by a function.
func (h *histogram) fill(n int, deviation float64, change func(float64) float64) {
	parts := make([]*histogram, threads)
	each(n, deviation, func(thread int) func([]float64) {
		part := newHistogram(h.deviation, h.width, len(h.counts)/2-1)
		parts[thread] = part
		return func(noise []float64) {
			for _, v := range noise {
				part.add(change(v))
			}
		}
	})
	for _, part := range parts {
		for bin, c := range part.counts {
			h.counts[bin] += c
		}
	}
}

// The integers have the probabilities of the law: every single one at a small deviation, and 256
// ranges out to eight deviations at a large one.
func TestLaw(t *testing.T) {
	for _, c := range []struct {
		deviation   float64
		width, bins int
	}{{0.3, 1, 3}, {3, 1, 24}, {0x1p20, 1 << 16, 128}, {1.7 * 0x1p20, 1 << 16, 256}, {0x1p38, 1 << 34, 128}} {
		n := draws(t)
		if c.deviation == 0x1p38 {
			n /= 100 // one pair in fifteen is computed again
		}
		t.Run(fmt.Sprint(c.deviation), func(t *testing.T) {
			h := newHistogram(c.deviation, c.width, c.bins)
			h.fill(n, c.deviation, func(v float64) float64 { return v })
			if p := h.pValue(); p < falseFailure {
				t.Errorf("%d draws are noise of the law with p = %.2g", n, p)
			}
		})
	}
}

// Every residue is as likely as another where the deviation is large: by a relative
// 2·exp(-2π²·deviation²/1024²), which is nothing.
func TestLawOfResidues(t *testing.T) {
	const modulus = 1024
	n := draws(t)
	counts := make([][modulus]int, threads)
	each(n, 0x1p20, func(thread int) func([]float64) {
		return func(noise []float64) {
			for _, v := range noise {
				counts[thread][int64(v)&(modulus-1)]++
			}
		}
	})
	total, all := make([]int, modulus), 0
	for _, c := range counts {
		for i := range c {
			total[i] += c[i]
			all += c[i]
		}
	}
	expected := make([]float64, modulus)
	for i := range expected {
		expected[i] = float64(all) / modulus
	}
	if p := chiSquare(total, expected); p < falseFailure {
		t.Errorf("residues of %d draws are uniform with p = %.2g", all, p)
	}
}

// The tests of the law have power: each broken twin is rejected at one deviation or the other. A
// twin is made of noise that is 1024 times finer, which stands for the product before it is
// rounded.
func TestLawRejectsBrokenTwins(t *testing.T) {
	const finer = 1024
	for name, twin := range map[string]func(x, deviation float64) float64{
		"deviation 0.5 % too small": func(x, _ float64) float64 { return math.Round(0.995 * x) },
		"deviation 0.5 % too large": func(x, _ float64) float64 { return math.Round(1.005 * x) },
		"mean not zero":             func(x, deviation float64) float64 { return math.Round(x + deviation/200) },
		"rounded toward zero":       func(x, _ float64) float64 { return math.Trunc(x) },
		"rounded down":              func(x, _ float64) float64 { return math.Floor(x) },
		"cut at 4 deviations": func(x, deviation float64) float64 {
			return math.Round(max(-4*deviation, min(4*deviation, x)))
		},
	} {
		change := func(deviation float64) func(float64) float64 {
			return func(v float64) float64 { return twin(v/finer, deviation) }
		}
		least := 1.0
		for _, h := range []*histogram{newHistogram(3, 1, 24), newHistogram(0x1p20, 1<<16, 128)} {
			if least > falseFailure {
				h.fill(10_000_000, h.deviation*finer, change(h.deviation))
				least = h.pValue()
			}
		}
		if least > falseFailure {
			t.Errorf("%s: accepted with p = %.2g", name, least)
		}
	}
}

// Values are uncorrelated, and so are their squares: within a pair (four apart half of the time),
// between neighbours, and at distances of one kernel block, one block and one call. Each limit is
// exceeded with probability 1e-5.
func TestLawOfPairs(t *testing.T) {
	const n, limit = 1 << 20, 4.417
	var a Adder
	z, src := make([]float64, n), random.ForTest(71)
	for at := 0; at < n; at += 1024 {
		a.Add(z[at:at+1024], make([]float64, 1024), make([]float64, 1024), 0x1p20, 0x1p-20, src)
	}
	for _, lag := range []int{1, 2, 3, 4, 5, 8, Block - 4, Block, 2 * Block} {
		var values, squares float64
		for i := lag; i < n; i++ {
			values += z[i] * z[i-lag]
			squares += (z[i]*z[i] - 1) * (z[i-lag]*z[i-lag] - 1) / 2
		}
		root := math.Sqrt(float64(n - lag))
		if !(math.Abs(values/root) <= limit) || !(math.Abs(squares/root) <= limit) {
			t.Errorf("lag %d: correlations of %.2f and %.2f standard errors", lag, values/root, squares/root)
		}
	}
}
