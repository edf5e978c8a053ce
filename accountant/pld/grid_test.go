package pld

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
)

// holds fails unless the interval holds the value and its ends are within the parts below
// and above of it.
func holds(t *testing.T, id string, got accountant.Interval, value, slack, below, above float64) {
	t.Helper()
	if !(got.Lower <= value+slack && value-slack <= got.Upper) {
		t.Errorf("%s: %v does not hold %v", id, got, value)
	}
	if !(got.Lower >= value*(1-below)-slack && got.Upper <= value*(1+above)+slack) {
		t.Errorf("%s: %v is wide, the value is %v (%.1e, %+.1e)", id, got, value, got.Lower/value-1, got.Upper/value-1)
	}
}

func epsilonOf(t *testing.T, parts []pair.Part, delta float64) accountant.Interval {
	t.Helper()
	return tiny.Must(gridEpsilon(parts, delta))(t)
}

func deltaOf(t *testing.T, parts []pair.Part, epsilon float64) accountant.Interval {
	t.Helper()
	return tiny.Must(gridDelta(parts, epsilon))(t)
}

// T Gaussian releases are one of σ/√T.
func TestGaussianComposition(t *testing.T) {
	for _, c := range []struct {
		sigma   float64
		count   int
		epsilon float64
	}{{1, 1, 1}, {0.3, 1, 20}, {10, 100, 2}, {30, 10_000, 12}, {5, 1, 0}, {100, 1000, 0.5}, {50, 1_000_000, 250}} {
		want := gaussianDelta(c.sigma/math.Sqrt(float64(c.count)), c.epsilon)
		parts := []pair.Part{{Pair: pair.Gaussian(c.sigma), Count: c.count}}
		got := deltaOf(t, parts, c.epsilon)
		holds(t, "delta", got, want, 1e-11*want, 1e-3, 1e-3)
		if c.epsilon > 0 { // at 0 any rounding of δ moves ε by a square root of it
			holds(t, "epsilon", epsilonOf(t, parts, want), c.epsilon, 1e-9, 1e-3, 1e-3)
		}
	}
}

// One release: δ(ε) is in the tails of the pair. The grid, which is not used for it, holds
// it too; its lower end is poor where the loss is nearly always within one cell.
func TestSingleReleases(t *testing.T) {
	for i, p := range []pair.Pair{
		pair.Removed(0.01, 1), pair.Removed(0.01, 1).Reversed(), pair.Removed(1e-4, 0.5), pair.Replaced(0.3, 2),
		pair.RemovedGroup(0.1, 3, 1), pair.Laplace(0.5), pair.LaplaceRemoved(0.1, 1), pair.LaplaceRemoved(0.1, 1).Reversed(),
		pair.ApproxDP(0.5, 1e-6), pair.RandomizedResponse(10, 0.7), pair.Symmetric{Dominating: pair.Removed(0.05, 0.7)},
		pair.Combination{{Weight: 0.9, Pair: pair.Gaussian(2)}, {Weight: 0.1, Pair: pair.Laplace(1)}},
	} {
		epsilons := []float64{0, 0.03, 1}
		if !slow.Asked() {
			epsilons = epsilons[i%3:][:1]
		}
		for _, epsilon := range epsilons {
			above, other := p.Above(epsilon)
			want := above - math.Exp(epsilon)*other
			if want < 1e-9*above || want < 1e-14 { // cancellation
				continue
			}
			id := fmt.Sprintf("%v at %v", p, epsilon)
			holds(t, id, deltaOf(t, []pair.Part{{Pair: p, Count: 1}}, epsilon), want, 1e-13*above+1e-12*want, 0.3, 2e-3)
		}
	}
}

// k-fold randomized response with few outcomes, by brute force over all of them.
func TestBruteForce(t *testing.T) {
	pairs := []*pair.Ladder{
		pair.RandomizedResponse(3, 0.5), pair.RandomizedResponse(3, 0.5), pair.ApproxDP(0.2, 1e-3), pair.ApproxDP(0, 1e-3),
		pair.Discrete([]float64{0.5, 0.3, 0.2}, []float64{0.2, 0.3, 0.5}), pair.Discrete([]float64{0.9, 0.1}, []float64{0.6, 0.4}),
	}
	var delta func(epsilon, p, q float64, rest []*pair.Ladder) float64
	delta = func(epsilon, p, q float64, rest []*pair.Ladder) float64 {
		if len(rest) == 0 {
			return max(0, p-math.Exp(epsilon)*q)
		}
		sum := delta(epsilon, p*rest[0].Infinite(), 0, rest[1:])
		for loss, mass := range rest[0].Steps {
			sum += delta(epsilon, p*mass, q*mass*math.Exp(-loss), rest[1:])
		}
		return sum
	}
	var parts []pair.Part
	for _, p := range pairs {
		parts = append(parts, pair.Part{Pair: p, Count: 1})
	}
	for _, epsilon := range []float64{0, 0.1, 0.7, 1.5, 2.5} {
		want := delta(epsilon, 1, 1, pairs)
		holds(t, "", deltaOf(t, parts, epsilon), want, 1e-12, 2e-2, 1e-3)
	}
}

// Any interval gives bounds, a finer one better bounds.
func TestInterval(t *testing.T) {
	parts := []pair.Part{{Pair: pair.Removed(0.01, 1), Count: 1000}}
	best := epsilonOf(t, parts, 1e-5)
	last := math.Inf(1)
	for _, h := range []float64{0.1, 0.03, 0.01, 1e-3, 1e-4} {
		p := newSketch(parts, 1e-5).planEpsilon(1e-5)
		p.space(h)
		got := tiny.Must(p.epsilon(1e-5))(t)
		if !(got.Lower <= best.Upper && best.Lower <= got.Upper) {
			t.Errorf("interval %v: %v and %v exclude each other", h, got, best)
		}
		if !(got.Upper-got.Lower < last) {
			t.Errorf("interval %v: %v is not narrower than %v", h, got, last)
		}
		last = got.Upper - got.Lower
	}
	p := newSketch(parts, 1e-5).planEpsilon(1e-5)
	p.space(1e-9)
	if got, err := p.epsilon(1e-5); !errors.Is(err, accountant.ErrUncertified) {
		t.Errorf("interval 1e-9: %v, %v, want %v", got, err, accountant.ErrUncertified)
	}
}

func TestEdges(t *testing.T) {
	step := []pair.Part{{Pair: pair.Removed(0.01, 1), Count: 100}}
	for name, c := range map[string]struct {
		parts       []pair.Part
		delta, want float64
	}{
		"nothing":                     {nil, 1e-5, 0},
		"identical outcomes":          {[]pair.Part{{Pair: pair.Discrete([]float64{1}, []float64{1}), Count: 7}}, 1e-9, 0},
		"infinite loss above delta":   {[]pair.Part{{Pair: pair.ApproxDP(1, 1e-3), Count: 10}}, 1e-3, math.Inf(1)},
		"infinite loss above, alone":  {[]pair.Part{{Pair: pair.Discrete([]float64{1, 0}, []float64{0, 1}), Count: 1}}, 0.5, math.Inf(1)},
		"infinite loss alone, within": {[]pair.Part{{Pair: pair.Discrete([]float64{0.5, 0.5}, []float64{0, 1}), Count: 1}}, 0.6, 0},
		"delta above the chance":      {[]pair.Part{{Pair: pair.Removed(1e-4, 10), Count: 1}}, 1e-3, 0},
		"large delta":                 {step, 0.99, 0},
	} {
		if got := epsilonOf(t, c.parts, c.delta); got != (accountant.Interval{Lower: c.want, Upper: c.want}) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	leaky := []pair.Part{{Pair: pair.ApproxDP(1, 1e-3), Count: 10}}
	if got := epsilonOf(t, leaky, pair.Infinite(leaky)*(1+5e-13)); got != (accountant.Interval{Lower: 0, Upper: math.Inf(1)}) {
		t.Errorf("infinite loss of δ but for rounding: %v, want [0, +Inf]", got)
	}
	if got, want := deltaOf(t, leaky, 10.5), -math.Expm1(10*math.Log1p(-1e-3)); !(math.Abs(got.Lower-want) <= 1e-9) || !(math.Abs(got.Upper-want) <= 1e-9) {
		t.Errorf("δ above all finite losses: %v, want %v", got, want)
	}
	for _, epsilon := range []float64{1e3, 1e6} {
		if got := deltaOf(t, step, epsilon); !(got.Lower == 0 && got.Upper >= 0 && got.Upper < 1e-280) {
			t.Errorf("δ(%v) = %v, want next to nothing", epsilon, got)
		}
	}
	if got := deltaOf(t, []pair.Part{{Pair: pair.ApproxDP(1, 1e-3), Count: 1}}, 1); !(math.Abs(got.Lower-1e-3) <= 1e-9) || !(math.Abs(got.Upper-1e-3) <= 1e-9) {
		t.Errorf("δ at the pure ε: %v, want 1e-3", got)
	}
}

var examples = []pair.Pair{
	pair.Gaussian(1), pair.Removed(0.01, 1), pair.Removed(0.01, 1).Reversed(), pair.Removed(1e-5, 0.8), pair.Removed(0.5, 0.3),
	pair.Removed(1e-3, 0.4).Reversed(), pair.Replaced(0.2, 1), pair.RemovedGroup(0.3, 4, 2),
	pair.Laplace(1), pair.LaplaceRemoved(0.1, 0.5), pair.LaplaceRemoved(0.1, 0.5).Reversed(),
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

// bracket holds the laws of a pair to what the bounds of compositions rest on (Zhu, Dong, Wang
// 2022, Theorem 10): no γ tells the optimistic law better apart than the pair, or the pair better
// than the pessimistic law.
func bracket(t *testing.T, p pair.Pair, dots, merged law, interval, lo, hi float64) {
	t.Helper()
	for i := range 400 {
		epsilon := lo + (hi-lo)*float64(i)/400
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

func TestLawsBracketThePair(t *testing.T) {
	for _, p := range examples {
		for _, interval := range []float64{0.3, 0.0371, 0.005} {
			dots, merged, lo, hi := laws(p, interval)
			bracket(t, p, dots, merged, interval, lo-0.1, hi+0.1)
		}
	}
}

// The same holds of nodes that leave much of the pair outside: it is raised to the first node and
// to +Inf, or lowered to the last node and to -Inf.
func TestLawsBracketAPairThatIsCut(t *testing.T) {
	const interval = 0.02
	for _, p := range examples {
		lo, hi := lowest(p, 0.2), highest(p, 0.2)
		if !(hi-lo > 4*interval) {
			lo, hi = lo-2*interval, hi+2*interval
		}
		var nodes []int
		for k := int(lo / interval); k <= int(hi/interval); k++ {
			nodes = append(nodes, k)
		}
		bracket(t, p, connectDots(p, nodes, interval), merge(p, nodes, interval, 2, 0), interval, lo-2, hi+2)
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
			if got := dots.divergence(epsilon, interval); !(math.Abs(got-want) <= 1e-12) {
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
			if !(math.Abs(sum-1) <= 1e-12) {
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
	got := v.compose([]factor{{law: law{index: []int{0, 1}, mass: []float64{1 - chance, chance}}, count: n}})
	sum := 0.0
	for i, m := range got.mass {
		want := 0.0
		if k := i - 10; k >= 0 && k <= n {
			want = math.Exp(numeric.Binomial{N: n, P: chance, Q: 1 - chance}.LogMass(k))
		}
		sum += (m - want) * (m - want)
	}
	if e := math.Sqrt(sum); !(e <= got.rounding) || !(got.rounding < 1e-11) {
		t.Errorf("error %v, bound %v", e, got.rounding)
	}
}

// The bounds of a composition are not below what is known: of the binomial mass beyond a window
// of 32 places, of 16 log₂(n) units for each transform that enters a power, and of eight units for
// each release and each place.
func TestBoundsOfAComposition(t *testing.T) {
	const n, chance, first, size = 60, 0.3, 8, 32
	p := &plan{theta: 0, interval: 1, first: first, size: size, above: 1, below: 1}
	got := newConvolver(p).compose([]factor{{law: law{index: []int{0, 1}, mass: []float64{1 - chance, chance}}, count: n}})
	beyond, below := 0.0, 0.0
	choose := math.Pow(1-chance, n)
	for k := range n + 1 {
		switch {
		case k < first:
			below += choose
		case k >= first+size:
			beyond += choose
		}
		choose *= float64(n-k) / float64(k+1) * chance / (1 - chance)
	}
	if !(got.beyond >= beyond && beyond > 1e-15) || !(got.wrapped >= beyond+below && below > 1e-5) {
		t.Errorf("beyond the window %v, wrapped %v, want at least %v and %v", got.beyond, got.wrapped, beyond, beyond+below)
	}

	const releases, places = 100_000, 1 << 13
	p = &plan{theta: 0, interval: 1, first: 0, size: places, above: 1, below: 1}
	got = newConvolver(p).compose([]factor{{law: law{index: []int{0}, mass: []float64{1}}, count: releases}})
	if least := releases * 16 * math.Log2(places) * unit; !(got.rounding >= least) {
		t.Errorf("rounding %v, want at least %v", got.rounding, least)
	}
	if least := 8 * (releases + places) * unit; !(got.componentwise >= least) {
		t.Errorf("componentwise rounding %v, want at least %v", got.componentwise, least)
	}
}

// Windows that are too narrow widen the interval, they do not make it wrong.
func TestWrapping(t *testing.T) {
	parts := []pair.Part{{Pair: pair.Gaussian(10), Count: 100}}
	want := gaussianDelta(1, 2)
	for _, chance := range []float64{1e-6, 1e-2, 0.3} {
		p := newSketchAt(parts, 2).planDelta(2)
		p.space(1e-3)
		p.chance = chance
		pessimistic, optimistic, err := p.compose()
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
	far := []pair.Part{{Pair: pair.Gaussian(0.001), Count: 6}}
	if got, err := gridDelta(far, 1e7); err != nil || !(got.Upper < 1e-300) {
		t.Errorf("an ε far beyond all losses: δ in %v, %v, want about 0", got, err)
	}
}

// Where the tails of Q are no normal numbers the bounds hold all the same: of one release, whose ε is
// by mpmath 1.3 with 60 digits, and of several, on the grid and on the contour.
func TestTailsBelowTheNormalNumbers(t *testing.T) {
	const want = 342.392877767522
	if low, up := pair.Epsilon(pair.Removed(0.001, 0.1), 1e-200); !(low <= want && want <= up) {
		t.Errorf("ε of one release is in [%v, %v], want %v", low, up, want)
	}
	parts := []pair.Part{{Pair: pair.Gaussian(0.1), Count: 1}, {Pair: pair.Laplace(0.5), Count: 12}}
	if i := tiny.Must(contourDelta([]pair.Part{{Pair: pair.Removed(0.5, 0.5), Count: 20}}, 3e3))(t); !(i.Upper > 0) {
		t.Errorf("δ is in %v, expected a number above 0", i)
	}
	grid, contour := epsilonOf(t, parts, 1e-280), tiny.Must(contourEpsilon(parts, 1e-280))(t)
	if grid.Lower > contour.Upper || contour.Lower > grid.Upper {
		t.Errorf("ε is in %v by the grid and in %v by the contour", grid, contour)
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

// Errors that the bounds state are included in them: masses that are off by the worst error of
// that size do not put δ, or ε, beyond its bounds.
func TestStatedErrorsAreIncluded(t *testing.T) {
	const size, interval, epsilon = 400, 0.01, 0.5
	for _, theta := range []float64{0, 0.3, 4} {
		exact := &composed{theta: theta, interval: interval, mass: make([]float64, size), infinite: 1e-3}
		total := 0.0
		for i := range exact.mass {
			x := float64(i-100) / 60
			exact.mass[i] = math.Exp(-x * x / 2)
			total += exact.mass[i]
		}
		for i := range exact.mass {
			exact.mass[i] /= 2 * total
		}
		exact.most, exact.norm = exact.weights()
		want := exact.delta(epsilon, upper)
		if !(math.Abs(want-exact.delta(epsilon, lower)) <= 1e-14) {
			t.Fatalf("θ=%v: without errors δ is %v and %v", theta, want, exact.delta(epsilon, lower))
		}

		// What the masses weigh in δ(ε): w of composed.
		weight := make([]float64, size)
		square, heaviest := 0.0, 0
		for i := range weight {
			if x := exact.loss(i) - epsilon; x > 0 {
				weight[i] = -math.Expm1(-x) * math.Exp(-theta*x)
			}
			square += weight[i] * weight[i]
			if weight[i] > weight[heaviest] {
				heaviest = i
			}
		}
		least := slices.Min(exact.mass)
		part := least / 2 * math.Sqrt(square) // keeps every mass above 0
		for _, tt := range []struct {
			name   string
			change func(c *composed, sign float64)
			sides  []side
		}{
			{"rounding", func(c *composed, sign float64) {
				c.rounding = part
				for i, w := range weight {
					c.mass[i] += sign * part * w / math.Sqrt(square)
				}
			}, []side{upper, lower}},
			{"componentwise", func(c *composed, sign float64) {
				c.componentwise = 1e-4
				for i := range c.mass {
					c.mass[i] *= 1 + sign*c.componentwise*(1-c.componentwise)
				}
			}, []side{upper, lower}},
			{"beyond the window", func(c *composed, sign float64) {
				c.beyond = 0.9 * c.mass[heaviest]
				c.mass[heaviest] -= c.beyond
			}, []side{upper}},
			{"wrapped into the window", func(c *composed, sign float64) {
				c.wrapped = 0.02
				c.mass[heaviest] += c.wrapped
			}, []side{lower}},
		} {
			for _, which := range tt.sides {
				c := *exact
				c.mass = slices.Clone(exact.mass)
				tt.change(&c, -float64(which)) // less where the bound is an upper one
				if got := c.delta(epsilon, which); !(float64(which)*(got-want) >= -1e-12*want) {
					t.Errorf("θ=%v, %s: the bound %+v of δ is %v, the truth %v", theta, tt.name, which, got, want)
				}
				blind := c
				blind.rounding, blind.componentwise, blind.beyond, blind.wrapped = 0, 0, 0, 0
				if got := blind.delta(epsilon, which); !(float64(which)*(got-want) < -1e-9*want) {
					t.Errorf("θ=%v, %s: without the error the bound %+v of δ is %v; the truth %v should lie beyond it", theta, tt.name, which, got, want)
				}
				if got := c.epsilon(want, 0, which); !(float64(which)*(got-epsilon) >= -1e-6*interval) {
					t.Errorf("θ=%v, %s: the bound %+v of ε is %v, the truth %v", theta, tt.name, which, got, epsilon)
				}
			}
		}
	}
}

// One atom where w is largest attains Chernoff's bound.
func TestChernoffIsAttained(t *testing.T) {
	const epsilon, theta = 0.5, 1.0
	interval := math.Ln2 / 20 // w(x) = (1 - e^-x) e^-x is 1/4 at x = log 2
	c := &composed{theta: theta, interval: interval, offset: epsilon, mass: make([]float64, 41)}
	c.mass[20] = 1
	c.most, c.norm = c.weights()
	want := math.Exp(-theta*epsilon) / 4
	if lo, hi := c.delta(epsilon, lower), c.delta(epsilon, upper); !(math.Abs(lo-want) <= 1e-15) || !(math.Abs(hi-want) <= 1e-15) {
		t.Errorf("δ in [%v, %v], want %v", lo, hi, want)
	}
}

// Losses that are nearly on the grid count as on it, which moves the sum of n releases by up to
// n times the rounding of losses. The binomial sum says that the lower ends need it: the
// releases have losses a little below a grid point. The upper ones have it too.
func TestRoundingOfLossesIsIncluded(t *testing.T) {
	const interval, n = 0.01, 1000
	e0 := interval * (10 - 0.9*roundingOfLosses)
	odds := 1 / (1 + math.Exp(-e0))
	p := pair.Discrete([]float64{odds, 1 - odds}, []float64{1 - odds, odds})
	parts := []pair.Part{{Pair: p, Count: n}}
	truth := func(epsilon float64) float64 {
		sum := 0.0
		for i := range n + 1 {
			if loss := float64(2*i-n) * e0; loss > epsilon {
				sum += -math.Expm1(epsilon-loss) * math.Exp(numeric.Binomial{N: n, P: odds, Q: 1 - odds}.LogMass(i))
			}
		}
		return sum
	}
	const epsilon = 12.345
	delta := truth(epsilon)
	for _, spacing := range []float64{interval, interval / 2} {
		plan := newSketch(parts, delta).planEpsilon(delta)
		plan.space(spacing)
		got, err := plan.epsilon(delta)
		if err != nil || !(got.Lower <= epsilon+1e-10 && epsilon-1e-10 <= got.Upper) {
			t.Errorf("ε(%v) in %v, %v, want %v inside", delta, got, err, epsilon)
		}
		atPlan := newSketchAt(parts, epsilon).planDelta(epsilon)
		atPlan.space(spacing)
		at, err := atPlan.delta(epsilon)
		if err != nil || !(at.Lower <= delta*(1+1e-10) && delta*(1-1e-10) <= at.Upper) {
			t.Errorf("δ(%v) in %v, %v, want %v inside", epsilon, at, err, delta)
		}

		pessimistic, optimistic, err := atPlan.compose()
		if err != nil {
			t.Fatal(err)
		}
		fewer, more := optimistic.delta(epsilon+atPlan.slack, lower), pessimistic.delta(epsilon-atPlan.slack, upper)
		if !(at.Lower <= fewer) || !(at.Upper >= more) {
			t.Errorf("δ(%v) in %v, want %v inside", epsilon, at, accountant.Interval{Lower: fewer, Upper: more})
		}

		if want := n * roundingOfLosses * spacing; !(math.Abs(plan.slack-want) <= 1e-12*want) {
			t.Errorf("the slack of %d releases is %v, want %v", n, plan.slack, want)
		}
		if pessimistic, optimistic, err = plan.compose(); err != nil {
			t.Fatal(err)
		}
		least, most := optimistic.epsilon(delta, 0, lower), pessimistic.epsilon(delta, 0, upper)
		if !(got.Lower <= least-plan.slack*(1-1e-9)) || !(got.Upper >= most+plan.slack*(1-1e-9)) {
			t.Errorf("ε(%v) in %v, want %v ∓ %v inside", delta, got, accountant.Interval{Lower: least, Upper: most}, plan.slack)
		}
	}
}
