package theorems

import (
	"math"
	"math/rand/v2"
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
