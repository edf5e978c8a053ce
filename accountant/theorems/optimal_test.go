package theorems

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Solved by bisection of the tail sum with 40 digits (mpmath 1.3), to 1e-17.
var goldenOptimal = []struct {
	k       int
	g       Guarantee
	delta   float64
	epsilon float64
}{
	{1000000, Guarantee{1e-06, 0}, 1e-05, 0.0019387247349618926},
	{1000000, Guarantee{1e-06, 0}, 0.0003, 0.00021659203147791905},
	{1000000, Guarantee{0.001, 1e-13}, 1e-05, 4.3795160176056063},
	{1000000, Guarantee{0.001, 0}, 1e-300, 37.4444111139059709},
	{1000000, Guarantee{0.05, 0}, 1e-06, 1486.37226391446},
	{10000, Guarantee{10, 0}, 1e-06, 99999.999998425419},
	{10000, Guarantee{1, 0}, 0.5, 4620.0395027023069},
	{1000, Guarantee{0.001, 0}, 1e-15, 0.22813250874799055},
	{30, Guarantee{10, 1e-09}, 1e-06, 299.99999902867749},
	{7, Guarantee{300, 0}, 1e-06, 2099.9999989999995},
	{100000, Guarantee{0.01, 0}, 1e-100, 71.9352889850408820},
}

func TestOptimalGolden(t *testing.T) {
	for _, tt := range goldenOptimal {
		got, err := Optimal(tt.g, tt.k, tt.delta)
		if err != nil || !(got >= tt.epsilon*(1-1e-15) && got <= tt.epsilon*(1+1e-10)) {
			t.Errorf("%v, k=%d, delta=%v: epsilon %.17g, %v, want %v (relative difference %.1e)",
				tt.g, tt.k, tt.delta, got, err, tt.epsilon, got/tt.epsilon-1)
		}
	}
}

// Optimal and OptimalDelta are inverse to each other: delta is met at the answer,
// and missed just below it.
func TestOptimalInverse(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		g := Guarantee{math.Exp(-12 * r.Float64()), 0}
		k := int(math.Exp(12 * r.Float64()))
		delta := math.Exp(-50 * r.Float64())
		if r.IntN(2) == 0 {
			g.Delta = delta / float64(k) / 2
		}
		epsilon, err := Optimal(g, k, delta)
		if err != nil || epsilon == 0 {
			continue
		}
		above, err := OptimalDelta(g, k, epsilon*(1+1e-9))
		if err != nil || above > delta*(1+1e-11+1e-13*math.Sqrt(float64(k))) {
			t.Errorf("%v, k=%d: delta %v at epsilon %v, %v, want %v", g, k, above, epsilon, err, delta)
		}
		if below, err := OptimalDelta(g, k, epsilon*(1-1e-9)); err != nil || below <= delta*(1-1e-11) {
			t.Errorf("%v, k=%d: delta %v just below epsilon %v, %v, want above %v", g, k, below, epsilon, err, delta)
		}
	}
}

// No theorem is better than the optimal one, and the ones it is built from bound
// it: monotone in every argument.
func TestOptimalIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		slack := math.Exp(-30*r.Float64() - 1)
		g := Guarantee{math.Exp(-8*r.Float64() + 1), slack * r.Float64() / 100}
		k := 1 + int(math.Exp(8*r.Float64()))
		optimal := func(g Guarantee, k int, delta float64) float64 {
			e, err := Optimal(g, k, delta)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		delta := math.Min(1, repeated(g, k).Delta+slack)
		closed := newQuestion([]counted{{g, k}}, delta).closedForm()
		basic := repeated(g, k)
		best := optimal(g, k, delta)
		if !(best <= closed && closed <= basic.Epsilon*(1+1e-14)) {
			t.Errorf("%v, k=%d: optimal %v, closed form %v, basic %v: want ascending", g, k, best, closed, basic)
		}
		for name, other := range map[string]float64{
			"one mechanism less": optimal(g, k-1, delta),
			"smaller epsilon":    optimal(Guarantee{g.Epsilon * 0.99, g.Delta}, k, delta),
			"smaller delta":      optimal(Guarantee{g.Epsilon, g.Delta * 0.9}, k, delta),
			"larger total":       optimal(g, k, math.Min(1, delta*1.01)),
		} {
			if other > best*(1+1e-14) {
				t.Errorf("%v, k=%d, delta=%v: epsilon %v, but %v with %s", g, k, delta, best, other, name)
			}
		}
	}
}

func TestOptimalEdges(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name  string
		g     Guarantee
		k     int
		delta float64
		want  float64
	}{
		{"no mechanism", Guarantee{1, 0.1}, 0, 0, 0},
		{"any delta will do", Guarantee{inf, 1}, 3, 1, 0},
		{"delta 0, pure: basic", Guarantee{0.5, 0}, 4, 0, 2},
		{"delta 0, not pure", Guarantee{0.5, 1e-9}, 4, 0, inf},
		{"delta below what the deltas cost", Guarantee{0.5, 1e-3}, 4, 3.99e-3, inf},
		{"epsilon 0, delta in excess", Guarantee{0, 1e-3}, 4, 4e-3, 0},
		{"no guarantee", Guarantee{inf, 0}, 2, 0.5, inf},
		{"one, at its own delta", Guarantee{0.5, 0}, 1, 1e-320, 0.5},
		{"total variation", Guarantee{0.5, 0}, 1, 0.2449186624037092, 0}, // tanh(1/4)
	} {
		if got, err := Optimal(tt.g, tt.k, tt.delta); err != nil || got != tt.want && math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: epsilon %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		g             Guarantee
		k             int
		epsilon, want float64
	}{
		{Guarantee{0.5, 0}, 4, 2, 0},
		{Guarantee{0.5, 0}, 4, inf, 0},
		{Guarantee{0.5, 0.25}, 2, 1, 0.4375},
		{Guarantee{inf, 0}, 2, 5, 1},
		{Guarantee{1, 1}, 2, 5, 1},
		{Guarantee{1, 1}, 0, 5, 0},
	} {
		if got, err := OptimalDelta(tt.g, tt.k, tt.epsilon); err != nil || math.Abs(got-tt.want) > 1e-14 {
			t.Errorf("%v, k=%d: delta %v, %v, want %v at %v", tt.g, tt.k, got, err, tt.want, tt.epsilon)
		}
	}
}
