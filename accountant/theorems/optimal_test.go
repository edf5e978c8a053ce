package theorems

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Solved by bisection of the tail sum with 40 digits (mpmath 1.3), to 1e-17.
var goldenOptimal = []struct {
	k       int
	g       guarantee
	delta   float64
	epsilon float64
}{
	{1000000, guarantee{1e-06, 0}, 1e-05, 0.0019387247349618926},
	{1000000, guarantee{1e-06, 0}, 0.0003, 0.00021659203147791905},
	{1000000, guarantee{0.001, 1e-13}, 1e-05, 4.3795160176056063},
	{1000000, guarantee{0.05, 0}, 1e-06, 1486.37226391446},
	{10000, guarantee{10, 0}, 1e-06, 99999.999998425419},
	{10000, guarantee{1, 0}, 0.5, 4620.0395027023069},
	{1000, guarantee{0.001, 0}, 1e-15, 0.22813250874799055},
	{30, guarantee{10, 1e-09}, 1e-06, 299.99999902867749},
	{7, guarantee{300, 0}, 1e-06, 2099.9999989999995},
	{100000, guarantee{0.01, 0}, 1e-100, 71.9352889850408820},
}

func TestOptimalGolden(t *testing.T) {
	for _, tt := range goldenOptimal {
		got := optimal(tt.g, tt.k, tt.delta)
		if !(got >= tt.epsilon*(1-1e-15) && got <= tt.epsilon*(1+1e-10)) {
			t.Errorf("%v, k=%d, delta=%v: epsilon %.17g, want %v (relative difference %.1e)",
				tt.g, tt.k, tt.delta, got, tt.epsilon, got/tt.epsilon-1)
		}
	}
}

// The functions optimal and optimalDelta are inverse to each other: delta is met at the answer,
// and missed just below it.
func TestOptimalInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		g := guarantee{math.Exp(-12 * r.Float64()), 0}
		k := int(math.Exp(12 * r.Float64()))
		delta := math.Exp(-50 * r.Float64())
		if r.IntN(2) == 0 {
			g.Delta = delta / float64(k) / 2
		}
		epsilon := optimal(g, k, delta)
		if epsilon == 0 {
			continue
		}
		above := optimalDelta(g, k, epsilon*(1+1e-9))
		if above > delta*(1+1e-11+1e-13*math.Sqrt(float64(k))) {
			t.Errorf("%v, k=%d: delta %v at epsilon %v, want %v", g, k, above, epsilon, delta)
		}
		if below := optimalDelta(g, k, epsilon*(1-1e-9)); below <= delta*(1-1e-11) {
			t.Errorf("%v, k=%d: delta %v just below epsilon %v, want above %v", g, k, below, epsilon, delta)
		}
	}
}

// No theorem is better than the optimal one, and the ones it is built from bound
// it: monotone in every argument.
func TestOptimalIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		slack := math.Exp(-30*r.Float64() - 1)
		g := guarantee{math.Exp(-8*r.Float64() + 1), slack * r.Float64() / 100}
		k := 1 + int(math.Exp(8*r.Float64()))
		delta := math.Min(1, repeated(g, k).Delta+slack)
		closed := newQuestion([]counted{{g, k}}, delta).closedForm()
		basic := repeated(g, k)
		best := optimal(g, k, delta)
		if !(best <= closed && closed <= basic.Epsilon*(1+1e-14)) {
			t.Errorf("%v, k=%d: optimal %v, closed form %v, basic %v: want ascending", g, k, best, closed, basic)
		}
		for name, other := range map[string]float64{
			"one mechanism less": optimal(g, k-1, delta),
			"smaller epsilon":    optimal(guarantee{g.Epsilon * 0.99, g.Delta}, k, delta),
			"smaller delta":      optimal(guarantee{g.Epsilon, g.Delta * 0.9}, k, delta),
			"larger total":       optimal(g, k, math.Min(1, delta*1.01)),
		} {
			if other > best*(1+1e-14) {
				t.Errorf("%v, k=%d, delta=%v: epsilon %v, but %v with %s", g, k, delta, best, other, name)
			}
		}
	}
}

// randomGuarantees returns n different pure ones.
func randomGuarantees(r *rand.Rand, n int) []guarantee {
	gs := make([]guarantee, n)
	for i := range gs {
		gs[i].Epsilon = 0.02 + 0.2*r.Float64()
	}
	return gs
}

// A number of equal guarantees and a last one that hardly counts take the way of
// different ones, and must answer as the theorem for equal ones does.
func TestHeterogeneousAgainstOptimal(t *testing.T) {
	for _, k := range []int{2, 30, 1000, 50000} {
		gs := make([]guarantee, k)
		for i := range gs {
			gs[i] = guarantee{0.05, 1e-11}
		}
		want := optimal(gs[0], k, 1e-5)
		got := questionAbout(append(gs, guarantee{1e-13, 0}), 1e-5).optimal()
		if !(got >= want*(1-1e-11) && got <= want*(1+1e-10)) {
			t.Errorf("k=%d: epsilon %.15g, want %.15g", k, got, want)
		}
	}
}

// Forty epsilons 0.0101, 0.0138, …, 0.1544: their 10701 losses added up as they are
// with 40 digits (mpmath 1.3).
func TestHeterogeneousGolden(t *testing.T) {
	gs := make([]guarantee, 40)
	for i := range gs {
		gs[i].Epsilon = float64(101+37*i) / 10000
	}
	for delta, want := range map[float64]float64{1e-3: 1.5877711303158079, 1e-6: 2.46352946642800541} {
		if got := questionAbout(gs, delta).optimal(); !(got >= want*(1-1e-15) && got <= want*(1+1e-9)) {
			t.Errorf("delta=%v: epsilon %.17g, want %.17g (relative difference %.1e)", delta, got, want, got/want-1)
		} else {
			t.Logf("delta=%v: relative difference %.1e", delta, got/want-1)
		}
	}
}

// The two exact ways and the grid answer the same question: where halves fit, the unit must agree,
// and the grid must lie above by at most what its comment says, and in practice next to it.
func TestHeterogeneousWays(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{3, 12, 30} {
		gs := randomGuarantees(r, n)
		for i := range gs { // multiples of a unit
			gs[i].Epsilon = math.Round(gs[i].Epsilon*1e4) / 1e4
		}
		q := questionAbout(gs, 1e-6)
		want := questionAbout(gs, 1e-6).optimal()
		var tables [][]atom
		for _, g := range q.groups {
			tables = append(tables, g.atoms(1e-22))
		}
		unit, ok := commonUnit(q.groups)
		if !ok || !(math.Abs(unit-1e-4) <= 1e-15) && n > 3 {
			t.Fatalf("%d guarantees: common unit %v, %v, want 1e-4", n, unit, ok)
		}
		most := q.epsilons
		got := leastEpsilon(grid{step: unit, snap: 1e-6}.losses(tables, q.pure, 0, 0).at, q.pure, most)
		if !(math.Abs(got-want) <= 1e-10*want) {
			t.Errorf("%d guarantees: epsilon %.15g in units, %.15g in halves", n, got, want)
		}
		for _, step := range []float64{1e-2, 1.234e-3, 1.234e-4} {
			got := leastEpsilon(grid{step: step}.losses(tables, q.pure, 0, 0).at, q.pure, most)
			if !(got >= want*(1-1e-11) && got <= want+float64(len(tables))*step) {
				t.Errorf("%d guarantees: epsilon %.15g on a grid of %v, exact %.15g", n, got, step, want)
			}
			if loss := float64(n) * step * step; n > 3 && got > want+10*loss {
				t.Errorf("%d guarantees: a grid of %v costs %v, want the order of %v", n, step, got-want, loss)
			}
		}
	}
}

// Sixty epsilons without structure are beyond the exact ways; their answer lies between the answers
// for multiples of a unit just below and just above.
func TestHeterogeneousLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	gs := randomGuarantees(r, 60)
	below, above := slices.Clone(gs), slices.Clone(gs)
	for i, g := range gs {
		below[i].Epsilon = math.Floor(g.Epsilon*1e4) / 1e4
		above[i].Epsilon = math.Ceil(g.Epsilon*1e4) / 1e4
	}
	got, lower, upper := questionAbout(gs, 1e-6).optimal(), questionAbout(below, 1e-6).optimal(), questionAbout(above, 1e-6).optimal()
	if !(lower <= got && got <= upper) {
		t.Errorf("epsilon %v, want from %v to %v", got, lower, upper)
	}
	if closed := questionAbout(gs, 1e-6).closedForm(); closed <= got {
		t.Errorf("closed form %v, want above %v", closed, got)
	}
}

// The edges of the theorem for equal guarantees and of the one for different ones.
func TestOptimalEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name  string
		gs    []guarantee
		delta float64
		want  float64
	}{
		{"none", nil, 0, 0},
		{"equal, any delta will do", slices.Repeat([]guarantee{{inf, 1}}, 3), 1, 0},
		{"equal, delta 0: the sum", slices.Repeat([]guarantee{{0.5, 0}}, 4), 0, 2},
		{"equal, delta 0, not pure", slices.Repeat([]guarantee{{0.5, 1e-9}}, 4), 0, inf},
		{"equal, delta below what the deltas cost", slices.Repeat([]guarantee{{0.5, 1e-3}}, 4), 3.99e-3, inf},
		{"epsilon 0, delta in excess", slices.Repeat([]guarantee{{0, 1e-3}}, 4), 4e-3, 0},
		{"no guarantee", slices.Repeat([]guarantee{{inf, 0}}, 2), 0.5, inf},
		{"one, at its own delta", []guarantee{{0.5, 0}}, 1e-320, 0.5},
		{"total variation", []guarantee{{0.5, 0}}, 0.2449186624037092, 0}, // tanh(1/4)
		{"delta 0: the sum", []guarantee{{0.5, 0}, {0.25, 0}}, 0, 0.75},
		{"delta 0, not pure", []guarantee{{0.5, 1e-9}, {0.25, 0}}, 0, inf},
		{"delta below what the deltas cost", []guarantee{{0.5, 1e-3}, {0.25, 1e-3}}, 1.9e-3, inf},
		{"no guarantee among them", []guarantee{{0.5, 0}, {inf, 0}}, 0.1, inf},
		{"a delta of 1 among them", []guarantee{{0.5, 0}, {1, 1}}, 0.1, inf},
		{"any delta will do", []guarantee{{0.5, 0}, {inf, 1}}, 1, 0},
		{"epsilons 0", []guarantee{{0, 0.1}, {0, 0.1}}, 0.2, 0},
		{"tiny delta: the sum", []guarantee{{0.5, 0}, {0.25, 0}}, 1e-300, 0.75},
		{"large epsilons", []guarantee{{500, 0}, {800, 0}}, 1e-6, 1300 + math.Log1p(-1e-6)},
	} {
		got := questionAbout(tt.gs, tt.delta).optimal()
		if got != tt.want && !(math.Abs(got-tt.want) <= 1e-11*(1+tt.want)) {
			t.Errorf("%s: epsilon %v, want %v", tt.name, got, tt.want)
		}
		if closed := questionAbout(tt.gs, tt.delta).closedForm(); closed < got {
			t.Errorf("%s: closed form %v, want at least %v", tt.name, closed, got)
		}
	}
}
