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

// k-ary randomized response has the pure ε log(P[truth]/P[other]); replacing shows in two outcomes.
func TestRandomizedResponse(t *testing.T) {
	for _, c := range []struct {
		k     int
		noise float64
	}{{2, 0.5}, {5, 0.2}, {1000, 0.9}} {
		d := RandomizedResponse(c.k, c.noise)
		truth := 1 - c.noise + c.noise/float64(c.k)
		other := c.noise / float64(c.k)
		want := math.Log(truth / other)
		if least, greatest := d.Support(); !(math.Abs(greatest-want) <= 1e-14) || !(math.Abs(least+want) <= 1e-14) {
			t.Errorf("k=%d: support %v, %v, want ∓%v", c.k, least, greatest, want)
		}
		if p, q := d.Above(0); !(math.Abs(p-truth) <= 1e-15) || !(math.Abs(q-other) <= 1e-15) {
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
		if got := p - math.Exp(epsilon)*q; !(math.Abs(got-want) <= 1e-15) {
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
		if !(math.Abs(p-c.leastP) <= 1e-15) || !(math.Abs(q-c.leastQ) <= 1e-15) {
			t.Errorf("%s: atom at the least loss %v, %v, want %v, %v", name, p, q, c.leastP, c.leastQ)
		}
		p, q = c.pair.Above(math.Nextafter(greatest, -1))
		if !(math.Abs(p-c.topP) <= 1e-14) || !(math.Abs(q-c.topQ) <= 1e-14) {
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
	if got := c.Infinite(); !(math.Abs(got-0.01) <= 1e-16) {
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
		if got, want := delta(s, -epsilon), delta(removed.Reversed(), -epsilon); !(math.Abs(got-want) <= 1e-13) {
			t.Errorf("δ(%v) = %v, want %v of the reversed pair", -epsilon, got, want)
		}
		gamma := math.Exp(-epsilon)
		if got, want := delta(s, -epsilon), 1-gamma+gamma*delta(s, epsilon); !(math.Abs(got-want) <= 1e-13) {
			t.Errorf("δ(%v) = %v, want %v by symmetry", -epsilon, got, want)
		}
		// Both directions of the dominating pair are within it.
		if got, want := delta(s, epsilon), delta(removed.Reversed(), epsilon); got < want-1e-13 {
			t.Errorf("δ(%v) = %v, below the reversed pair's %v", epsilon, got, want)
		}
	}
}

// rounded is a pair whose tails are off by a relative error, in opposite directions.
type rounded struct {
	Pair
	by float64
}

func (r rounded) Above(l float64) (p, q float64) {
	p, q = r.Pair.Above(l)
	return p * (1 + r.by), q * (1 - r.by)
}

// The bounds of one release include what rounding may do to the tails of its loss.
func TestRoundingOfTailsIsIncluded(t *testing.T) {
	for _, p := range []Pair{Gaussian(1), Removed(0.1, 1.5), Laplace(2), ApproxDP(0.5, 1e-3),
		DiscreteLaplace(0.5, 3), DiscreteGaussian(4, 2), BoundedRange{0.5}} {
		for _, epsilon := range []float64{0, 0.1, 0.4} {
			above, other := p.Above(epsilon)
			want := above - math.Exp(epsilon)*other
			for _, by := range []float64{-0.9 * roundingOfTails, 0.9 * roundingOfTails} {
				lower, upper := Delta(rounded{p, by}, epsilon)
				if !(lower <= want && want <= upper) || !(upper-lower < 10*roundingOfTails) {
					t.Errorf("%v with tails off by %v: δ(%v) in [%v, %v], want %v inside", p, by, epsilon, lower, upper, want)
				}
				low, up := Epsilon(rounded{p, by}, want)
				// Rounding of want moves ε by 1e-15 or so.
				if !(low <= epsilon+1e-13 && epsilon-1e-13 <= up) {
					t.Errorf("%v with tails off by %v: ε(%v) in [%v, %v], want %v inside", p, by, want, low, up, epsilon)
				}
			}
		}
	}
}

// checkTails states what every pair promises: tails of two distributions whose likelihood
// ratio is e^L. losses lists where to look, increasing.
func checkTails(t *testing.T, p Pair, losses []float64) {
	t.Helper()
	least, greatest := p.Support()
	infinite := p.Infinite()
	for i, l := range losses {
		aboveP, aboveQ := p.Above(l)
		belowP, belowQ := p.Below(l)
		if !(math.Abs(aboveP+belowP-1) <= 1e-14) || !(math.Abs(aboveQ+belowQ-1) <= 1e-14) {
			t.Errorf("%v at %v: tails add up to %v and %v, want 1", p, l, aboveP+belowP, aboveQ+belowQ)
		}
		// Markov: P[L > l] ≥ e^l Q[L > l], P[L ≤ l] ≤ e^l Q[L ≤ l].
		const rounding = 1 + 1e-12
		if aboveP*rounding < math.Exp(l)*aboveQ || belowP > math.Exp(l)*belowQ*rounding {
			t.Errorf("%v at %v: tails %v, %v and %v, %v do not fit the loss", p, l, aboveP, aboveQ, belowP, belowQ)
		}
		if l >= greatest && !(math.Abs(aboveP-infinite) <= 1e-15) || l < least && belowP != 0 {
			t.Errorf("%v at %v: mass beyond the support [%v, %v]", p, l, least, greatest)
		}
		if i == 0 {
			continue
		}
		a := losses[i-1]
		beforeP, beforeQ := p.Above(a)
		cellP, cellQ := beforeP-aboveP, beforeQ-aboveQ // a < L ≤ l
		slack := 1e-14 * (beforeP + math.Exp(l)*beforeQ)
		if cellP < math.Exp(a)*cellQ-slack || cellP > math.Exp(l)*cellQ+slack {
			t.Errorf("%v: %v and %v in (%v, %v]", p, cellP, cellQ, a, l)
		}
	}
}

func grid(lo, hi float64, n int) []float64 {
	var ls []float64
	for i := range n + 1 {
		ls = append(ls, lo+(hi-lo)*float64(i)/float64(n))
	}
	return ls
}

func TestMixturesTails(t *testing.T) {
	for _, m := range []Mixtures{
		Gaussian(1), Gaussian(0.2), Gaussian(30), Removed(0.01, 1), Removed(1e-5, 0.8), Removed(0.999, 2), Removed(0.01, 1).Reversed(),
		Removed(0.3, 0.5).Reversed(), Replaced(0.1, 1), Replaced(1, 4), RemovedGroup(0.2, 5, 2), RemovedGroup(0.01, 3, 1).Reversed(),
	} {
		checkTails(t, m, grid(-5.03, 5.07, 1001))
		checkTails(t, m, grid(-1e-3, 1e-3, 101))
	}
}

// Gaussian(σ) has L ~ N(±1/2σ², 1/σ²), so the tails are closed forms, to 1e-13 however far out.
func TestGaussianTails(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, 7} {
		for _, l := range []float64{-3, 0, 1, 5, 20} {
			p, q := Gaussian(sigma).Above(l)
			wantP := math.Erfc((l*sigma-0.5/sigma)/math.Sqrt2) / 2
			wantQ := math.Erfc((l*sigma+0.5/sigma)/math.Sqrt2) / 2
			if !(math.Abs(p-wantP) <= 1e-12*wantP) || !(math.Abs(q-wantQ) <= 1e-12*wantQ) {
				t.Errorf("σ=%v: above %v: %v, %v, want %v, %v", sigma, l, p, q, wantP, wantQ)
			}
		}
	}
}

// The other direction of a pair has the negative loss and the sides exchanged.
func TestMixturesReversed(t *testing.T) {
	for _, m := range []Mixtures{Removed(0.1, 1), RemovedGroup(0.2, 3, 1), Replaced(0.3, 2)} {
		for _, l := range grid(-2, 2, 41) {
			p, q := m.Above(l)
			reversedQ, reversedP := m.Reversed().Below(-l)
			if !(math.Abs(p-reversedP) <= 1e-13) || !(math.Abs(q-reversedQ) <= 1e-13) {
				t.Errorf("%v: above %v: %v, %v; reversed, below: %v, %v", m, l, p, q, reversedP, reversedQ)
			}
		}
	}
}

// The greatest loss keeps its digits where a weight is next to 1, and the search for a loss next to
// it ends.
func TestGreatestLossOfRareSamples(t *testing.T) {
	m := RemovedGroup(1e-12, 3, 1).Reversed()
	_, greatest := m.Support()
	if want := -3 * math.Log1p(-1e-12); !(math.Abs(greatest/want-1) < 4e-12) {
		t.Errorf("the greatest loss is %v, want %v", greatest, want)
	}
	for part := 1e-3; part > 1e-15; part /= 2 {
		if p, q := m.Above(greatest * (1 - part)); !(p >= 0 && p <= 1 && q >= 0 && q <= p) {
			t.Errorf("above the greatest loss less %v of it are %v and %v", part, p, q)
		}
	}
}
