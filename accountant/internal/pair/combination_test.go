package pair

import (
	"math"
	"testing"
)

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
