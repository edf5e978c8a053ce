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

func TestLaplaceTails(t *testing.T) {
	for _, s := range []SampledLaplace{
		Laplace(1), Laplace(0.1), Laplace(20), LaplaceRemoved(0.1, 1), LaplaceRemoved(0.1, 1).Reversed(), LaplaceRemoved(1e-4, 0.3), LaplaceRemoved(0.5, 5).Reversed(),
	} {
		checkTails(t, s, grid(-3.01, 3.02, 1001))
		least, greatest := s.Support()
		ends := []float64{least - 1e-9, least, least + 1e-9*math.Abs(least), 0, greatest * (1 - 1e-9), greatest, greatest + 1e-9}
		checkTails(t, s, ends)
	}
}

// P and Q have half of a Laplace distribution each beyond their own place, in atoms.
func TestLaplaceAtoms(t *testing.T) {
	const q, scale = 0.2, 0.7
	far := math.Exp(-1/scale) / 2
	for name, c := range map[string]struct {
		pair                       SampledLaplace
		leastP, leastQ, topP, topQ float64
	}{
		"plain":   {Laplace(scale), far, 0.5, 0.5, far},
		"removed": {LaplaceRemoved(q, scale), (1-q)*0.5 + q*far, 0.5, (1-q)*far + q*0.5, far},
		"added":   {LaplaceRemoved(q, scale).Reversed(), far, (1-q)*far + q*0.5, 0.5, (1-q)*0.5 + q*far},
	} {
		least, greatest := c.pair.Support()
		p, q := c.pair.Below(least)
		if math.Abs(p-c.leastP) > 1e-15 || math.Abs(q-c.leastQ) > 1e-15 {
			t.Errorf("%s: atom at the least loss %v, %v, want %v, %v", name, p, q, c.leastP, c.leastQ)
		}
		p, q = c.pair.Above(math.Nextafter(greatest, -1))
		if math.Abs(p-c.topP) > 1e-14 || math.Abs(q-c.topQ) > 1e-14 {
			t.Errorf("%s: atom at the greatest loss %v, %v, want %v, %v", name, p, q, c.topP, c.topQ)
		}
		if p, q := c.pair.Above(greatest); p != 0 || q != 0 {
			t.Errorf("%s: %v, %v above the greatest loss, want 0", name, p, q)
		}
	}
}

func TestCombinationTails(t *testing.T) {
	c := Combination{{0.7, Removed(0.1, 1)}, {0.2, Laplace(1)}, {0.1, ApproxDP(0.5, 0.1)}}
	checkTails(t, c, grid(-3.01, 3.02, 501))
	if got := c.Infinite(); math.Abs(got-0.01) > 1e-16 {
		t.Errorf("infinite loss with %v, want 0.1 of 0.1", got)
	}
	if least, greatest := c.Support(); least != -1 || !math.IsInf(greatest, 1) {
		t.Errorf("support %v, %v, want -1 of Laplace(1) and +Inf", least, greatest)
	}
	p, q := c.Above(0.3)
	var wantP, wantQ float64
	for _, w := range c {
		wp, wq := w.Pair.Above(0.3)
		wantP += w.Weight * wp
		wantQ += w.Weight * wq
	}
	if p != wantP || q != wantQ {
		t.Errorf("above 0.3: %v, %v, want %v, %v", p, q, wantP, wantQ)
	}
}

func TestSymmetricTails(t *testing.T) {
	for _, p := range []Pair{Removed(0.1, 0.5), Removed(1e-3, 1), Gaussian(1), ApproxDP(0.4, 0.01), LaplaceRemoved(0.2, 1)} {
		s := Symmetric{p}
		checkTails(t, s, grid(-3.01, 3.02, 1001))
		checkTails(t, s, []float64{-1e-9, 0, 1e-9})
	}
}

// delta is H_γ at γ = e^ε.
func delta(p Pair, epsilon float64) float64 {
	above, other := p.Above(epsilon)
	return above - math.Exp(epsilon)*other
}

// The profile equals the dominating pair's from 0 on and its reverse's before, and is symmetric:
// H_γ = 1 - γ + γ H_{1/γ}.
func TestSymmetricProfile(t *testing.T) {
	removed := Removed(0.1, 0.5)
	s := Symmetric{removed}
	for _, epsilon := range grid(0, 3, 31) {
		if got, want := delta(s, epsilon), delta(removed, epsilon); got != want {
			t.Errorf("δ(%v) = %v, want %v", epsilon, got, want)
		}
		if got, want := delta(s, -epsilon), delta(removed.Reversed(), -epsilon); math.Abs(got-want) > 1e-13 {
			t.Errorf("δ(%v) = %v, want %v of the reversed pair", -epsilon, got, want)
		}
		gamma := math.Exp(-epsilon)
		if got, want := delta(s, -epsilon), 1-gamma+gamma*delta(s, epsilon); math.Abs(got-want) > 1e-13 {
			t.Errorf("δ(%v) = %v, want %v by symmetry", -epsilon, got, want)
		}
		// Both directions of the dominating pair are within it.
		if got, want := delta(s, epsilon), delta(removed.Reversed(), epsilon); got < want-1e-13 {
			t.Errorf("δ(%v) = %v, below the reversed pair's %v", epsilon, got, want)
		}
	}
}
