package pld

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"dpsgd/accountant"
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
		pair.RandomizedResponse(3, 0.5), pair.RandomizedResponse(3, 0.5), pair.ApproxDP(0.2, 1e-3),
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
		if width := got.Upper - got.Lower; !(width < last) {
			t.Errorf("interval %v: %v is not narrower than %v", h, got, last)
		} else {
			last = width
		}
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
	if got, want := deltaOf(t, leaky, 10.5), -math.Expm1(10*math.Log1p(-1e-3)); math.Abs(got.Lower-want) > 1e-9 || math.Abs(got.Upper-want) > 1e-9 {
		t.Errorf("δ above all finite losses: %v, want %v", got, want)
	}
	for _, epsilon := range []float64{1e3, 1e6} {
		if got := deltaOf(t, step, epsilon); !(got.Lower == 0 && got.Upper >= 0 && got.Upper < 1e-280) {
			t.Errorf("δ(%v) = %v, want next to nothing", epsilon, got)
		}
	}
	if got := deltaOf(t, []pair.Part{{Pair: pair.ApproxDP(1, 1e-3), Count: 1}}, 1); math.Abs(got.Lower-1e-3) > 1e-9 || math.Abs(got.Upper-1e-3) > 1e-9 {
		t.Errorf("δ at the pure ε: %v, want 1e-3", got)
	}
}
