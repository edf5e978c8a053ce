package pair

import (
	"math"
	"testing"
)

func TestDiscreteTails(t *testing.T) {
	for _, d := range []*Ladder{
		RandomizedResponse(2, 0.5), RandomizedResponse(10, 0.2), RandomizedResponse(3, 1), ApproxDP(0.5, 0), ApproxDP(2, 1e-3),
		Discrete([]float64{0.5, 0.5, 0}, []float64{0, 0.25, 0.75}), Discrete([]float64{0, 1e-310, 1}, []float64{1e-3, 1 - 1e-3, 1e-312}),
	} {
		checkTails(t, d, grid(-3.01, 3.02, 501))
		least, greatest := d.Support()
		checkTails(t, d, []float64{least - 1e-9, least, 0, greatest, greatest + 1e-9})
	}
}

// k-ary randomized response has the pure ε log(P[truth]/P[other]); replacing shows in
// two outcomes.
func TestRandomizedResponse(t *testing.T) {
	for _, c := range []struct {
		k     int
		noise float64
	}{{2, 0.5}, {5, 0.2}, {1000, 0.9}} {
		d := RandomizedResponse(c.k, c.noise)
		truth := 1 - c.noise + c.noise/float64(c.k)
		other := c.noise / float64(c.k)
		want := math.Log(truth / other)
		if least, greatest := d.Support(); math.Abs(greatest-want) > 1e-14 || math.Abs(least+want) > 1e-14 {
			t.Errorf("k=%d: support %v, %v, want ∓%v", c.k, least, greatest, want)
		}
		if p, q := d.Above(0); math.Abs(p-truth) > 1e-15 || math.Abs(q-other) > 1e-15 {
			t.Errorf("k=%d: above 0: %v, %v, want %v, %v", c.k, p, q, truth, other)
		}
	}
}

// ApproxDP(ε₀, δ₀) has δ(ε₀) = δ₀ exactly, and at ε below the profile of Kairouz, Oh,
// Viswanath: δ₀ + (1-δ₀)(e^ε₀ - e^ε)/(1 + e^ε₀).
func TestApproxDP(t *testing.T) {
	const epsilon0, delta0 = 0.7, 0.01
	d := ApproxDP(epsilon0, delta0)
	for _, epsilon := range []float64{0, 0.3, 0.7, 2} {
		p, q := d.Above(epsilon)
		want := delta0 + (1-delta0)*max(0, math.Exp(epsilon0)-math.Exp(epsilon))/(1+math.Exp(epsilon0))
		if got := p - math.Exp(epsilon)*q; math.Abs(got-want) > 1e-15 {
			t.Errorf("δ(%v) = %v, want %v", epsilon, got, want)
		}
	}
	if d.Infinite() != delta0 {
		t.Errorf("infinite loss with %v, want %v", d.Infinite(), delta0)
	}
}
