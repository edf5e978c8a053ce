package pair

import (
	"math"
	"testing"
)

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
