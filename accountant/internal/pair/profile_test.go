package pair

import (
	"math"
	"testing"
)

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
