package numeric

import (
	"math"
	"testing"
)

func TestGroup(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name           string
		epsilon, delta float64
		k              int
		wantEpsilon    float64
		wantDelta      float64
	}{
		{"one", 0.3, 1e-6, 1, 0.3, 1e-6},
		{"two", 0.5, 1e-6, 2, 1, 1e-6 * (1 + math.Exp(0.5))},
		{"pure", 0.5, 0, 1000, 500, 0},
		{"epsilon 0", 0, 1e-6, 5, 0, 5e-6},
		{"next to epsilon 0", 1e-12, 1e-6, 5, 5e-12, 5e-6 * (1 + 2e-12)},
		{"delta at most 1", 1, 1e-3, 50, 50, 1},
		{"overflow", 1, 1e-3, 5000, 5000, 1},
		{"a tiny delta times a large factor", 700, 1e-320, 2, 1400, 1e-320 * math.Exp(700)},
		{"no guarantee", inf, 0.1, 2, inf, 1},
		{"none, pure", inf, 0, 2, inf, 0},
	} {
		epsilon, delta := Group(tt.epsilon, tt.delta, tt.k)
		if !near(epsilon, tt.wantEpsilon, 1e-15) || !near(delta, tt.wantDelta, 1e-11) || delta < tt.wantDelta*(1-1e-13) {
			t.Errorf("%s: (%v, %v), want (%v, %v)", tt.name, epsilon, delta, tt.wantEpsilon, tt.wantDelta)
		}
	}
}

// near reports whether two numbers are equal up to a relative tolerance.
func near(a, b, tolerance float64) bool { return a == b || math.Abs(a-b) <= tolerance*math.Abs(b) }
