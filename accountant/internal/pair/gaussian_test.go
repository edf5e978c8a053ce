package pair

import (
	"math"
	"testing"
)

// checkTails states what every pair promises: tails of two distributions whose likelihood
// ratio is e^L. losses lists where to look, increasing.
func checkTails(t *testing.T, p Pair, losses []float64) {
	t.Helper()
	least, greatest := p.Support()
	infinite := p.Infinite()
	for i, l := range losses {
		aboveP, aboveQ := p.Above(l)
		belowP, belowQ := p.Below(l)
		if math.Abs(aboveP+belowP-1) > 1e-14 || math.Abs(aboveQ+belowQ-1) > 1e-14 {
			t.Errorf("%v at %v: tails add up to %v and %v, want 1", p, l, aboveP+belowP, aboveQ+belowQ)
		}
		// Markov: P[L > l] ≥ e^l Q[L > l], P[L ≤ l] ≤ e^l Q[L ≤ l].
		const rounding = 1 + 1e-12
		if aboveP*rounding < math.Exp(l)*aboveQ || belowP > math.Exp(l)*belowQ*rounding {
			t.Errorf("%v at %v: tails %v, %v and %v, %v do not fit the loss", p, l, aboveP, aboveQ, belowP, belowQ)
		}
		if l >= greatest && math.Abs(aboveP-infinite) > 1e-15 || l < least && belowP != 0 {
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

// Gaussian(σ) has L ~ N(±1/2σ², 1/σ²), so the tails are closed forms, to 1e-13 however far
// out.
func TestGaussianTails(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, 7} {
		for _, l := range []float64{-3, 0, 1, 5, 20} {
			p, q := Gaussian(sigma).Above(l)
			wantP := math.Erfc((l*sigma-0.5/sigma)/math.Sqrt2) / 2
			wantQ := math.Erfc((l*sigma+0.5/sigma)/math.Sqrt2) / 2
			if math.Abs(p-wantP) > 1e-12*wantP || math.Abs(q-wantQ) > 1e-12*wantQ {
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
			if math.Abs(p-reversedP) > 1e-13 || math.Abs(q-reversedQ) > 1e-13 {
				t.Errorf("%v: above %v: %v, %v; reversed, below: %v, %v", m, l, p, q, reversedP, reversedQ)
			}
		}
	}
}
