package pair

import (
	"math"
	"testing"
)

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
