package pld

import (
	"math"
	"slices"
	"testing"

	"dpsgd/accountant/internal/pair"
)

var examples = []pair.Pair{
	pair.Gaussian(1), pair.Removed(0.01, 1), pair.Added(0.01, 1), pair.Removed(1e-5, 0.8), pair.Removed(0.5, 0.3),
	pair.Added(1e-3, 0.4), pair.Replaced(0.2, 1), pair.RemovedGroup(0.3, 4, 2),
	pair.Laplace(1), pair.LaplaceRemoved(0.1, 0.5), pair.LaplaceAdded(0.1, 0.5),
	pair.RandomizedResponse(2, 0.5), pair.RandomizedResponse(7, 0.9), pair.ApproxDP(0.3, 0.01),
	pair.Symmetric{Dominating: pair.Removed(0.1, 0.5)},
	pair.Combination{{Weight: 0.7, Pair: pair.Gaussian(3)}, {Weight: 0.3, Pair: pair.RandomizedResponse(2, 0.5)}},
}

// divergence is H_γ of a law at γ = e^ε.
func (w law) divergence(epsilon, interval float64) float64 {
	sum := 0.0
	for i, k := range w.index {
		sum += w.mass[i] * max(0, -math.Expm1(epsilon-w.loss(k, interval)))
	}
	return sum + w.infinite
}

// laws returns the two laws of a pair on cells of irregular widths, and their range.
func laws(p pair.Pair, interval float64) (dots, merged law, lo, hi float64) {
	lo, hi = lowest(p, 1e-15), highest(p, 1e-15)
	var nodes []int
	for k, i := int(math.Floor(lo/interval))-1, 0; ; i++ {
		nodes = append(nodes, k)
		if float64(k) > hi/interval+1 {
			break
		}
		k += 1 + i%7/4 + i%31/30*5
	}
	return connectDots(p, nodes, interval), merge(p, nodes, interval, 2, 0), lo, hi
}

// No γ tells the optimistic law better apart than the pair, or the pair better than the
// pessimistic law. This is what the bounds of compositions rest on (Zhu, Dong, Wang 2022,
// Theorem 10).
func TestLawsBracketThePair(t *testing.T) {
	for _, p := range examples {
		for _, interval := range []float64{0.3, 0.0371, 0.005} {
			dots, merged, lo, hi := laws(p, interval)
			for i := range 400 {
				epsilon := lo - 0.1 + (hi-lo+0.2)*float64(i)/400
				above, other := p.Above(epsilon)
				want := above - math.Exp(epsilon)*other
				rounding := 1e-13 * (above + math.Exp(epsilon)*other)
				if got := dots.divergence(epsilon, interval); got < want-rounding {
					t.Fatalf("%v at interval %v: connectDots has δ(%v) = %v, below %v", p, interval, epsilon, got, want)
				}
				if got := merged.divergence(epsilon, interval); got > want+rounding {
					t.Fatalf("%v at interval %v: merge has δ(%v) = %v, above %v", p, interval, epsilon, got, want)
				}
			}
		}
	}
}

// Connecting the dots is exact at the nodes.
func TestDotsAreExact(t *testing.T) {
	for _, p := range examples {
		const interval = 0.05
		dots, _, lo, hi := laws(p, interval)
		for i, k := range dots.index {
			epsilon := float64(k) * interval
			if i == 0 || epsilon < lo || epsilon > min(hi, 30) {
				continue
			}
			above, other := p.Above(epsilon)
			want := above - math.Exp(epsilon)*other
			if got := dots.divergence(epsilon, interval); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v: δ(%v) = %v, want %v", p, epsilon, got, want)
			}
		}
	}
}

// Both laws are sorted, on the grid and of the right mass; both keep the mean of e^-L to
// second order in the interval.
func TestLawsAreLaws(t *testing.T) {
	for _, p := range examples {
		dots, merged, _, _ := laws(p, 0.01)
		for name, w := range map[string]law{"connectDots": dots, "merge": merged} {
			if !slices.IsSorted(w.index) || len(slices.Compact(slices.Clone(w.index))) != len(w.index) {
				t.Errorf("%v: indices of %s are not increasing", p, name)
			}
			sum := w.infinite
			for _, m := range w.mass {
				if !(m >= 0) {
					t.Errorf("%v: %s has mass %v", p, name, m)
				}
				sum += m
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("%v: %s has mass %v in all", p, name, sum)
			}
		}
	}
}

// The bound of rounding holds, with room: the composition of binomials is binomial.
func TestRoundingBound(t *testing.T) {
	const n, chance = 60, 0.3
	p := &plan{theta: 0, interval: 1, first: -10, size: 1 << 13, above: 1, below: 1}
	v := newConvolver(p)
	got := v.compose([]factor{{law{index: []int{0, 1}, mass: []float64{1 - chance, chance}}, n}})
	sum := 0.0
	for i, m := range got.mass {
		k := float64(i - 10)
		want := 0.0
		if k >= 0 && k <= n {
			a, _ := math.Lgamma(n + 1)
			b, _ := math.Lgamma(k + 1)
			c, _ := math.Lgamma(n - k + 1)
			want = math.Exp(a - b - c + k*math.Log(chance) + (n-k)*math.Log(1-chance))
		}
		sum += (m - want) * (m - want)
	}
	if e := math.Sqrt(sum); !(e <= got.rounding) || !(got.rounding < 1e-11) {
		t.Errorf("error %v, bound %v", e, got.rounding)
	}
}

// Windows that are too narrow widen the interval, they do not make it wrong.
func TestWrapping(t *testing.T) {
	parts := []Part{{pair.Gaussian(10), 100}}
	want := gaussianDelta(1, 2)
	for _, chance := range []float64{1e-6, 1e-2, 0.3} {
		p := newSketchAt(parts, 2, 1e-5).planDelta(2, Options{Interval: 1e-3})
		p.chance = chance
		pessimistic, optimistic, err := p.compose(parts)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := optimistic.delta(2, lower), pessimistic.delta(2, upper)
		if !(lo <= want && want <= hi) {
			t.Errorf("chance %v: [%v, %v] does not hold %v", chance, lo, hi, want)
		}
	}
}

// A composition that is not a number answers with what is always true.
func TestNotANumber(t *testing.T) {
	c := &composed{theta: 1, interval: 0.1, mass: make([]float64, 100), logMass: math.NaN()}
	if lo, hi := c.delta(1, lower), c.delta(1, upper); lo != 0 || hi != 1 {
		t.Errorf("δ in [%v, %v], want [0, 1]", lo, hi)
	}
	if lo, hi := c.epsilon(0.1, 0, lower), c.epsilon(0.1, 0, upper); lo != 0 || !math.IsInf(hi, 1) {
		t.Errorf("ε in [%v, %v], want [0, +Inf]", lo, hi)
	}
}

func TestFFTSize(t *testing.T) {
	for n := 1; n < 1<<17; n += 97 {
		size := fftSize(n)
		rest := size
		for _, f := range []int{2, 3, 5} {
			for rest%f == 0 {
				rest /= f
			}
		}
		if size < n || rest != 1 || size%2 != 0 || (n > smallestSize && float64(size) > 1.26*float64(n)) {
			t.Errorf("fftSize(%d) = %d", n, size)
		}
	}
}
