package pair

import (
	"math"
	"math/bits"
	"testing"
)

// Both laws keep the expectation of the sum, and E[S²] of the true law lies between theirs: of n
// log-normal numbers it is n² + n (e^(s²) - 1).
func TestSumsOfLogNormals(t *testing.T) {
	for _, n := range []int{2, 3, 7, 100} {
		for _, s := range []float64{0.05, 0.5, 1.2} {
			square := float64(n*n) + float64(n)*math.Expm1(s*s)
			for _, which := range []side{wider, narrower} {
				law := logNormals{s, 0.02, which}.of(n, bits.Len(uint(n)))
				var chance, mean, second float64
				for i, x := range law.value {
					chance += law.chance[i]
					mean += law.chance[i] * x
					second += law.chance[i] * x * x
					if i > 0 && law.value[i-1] > x {
						t.Fatalf("%d numbers of s %v: values fall from %v to %v", n, s, law.value[i-1], x)
					}
				}
				mean += law.beyond
				if off := math.Abs(chance-1) + math.Abs(mean/float64(n)-1); off > 4*law.rounding+1e-12 {
					t.Errorf("%d numbers of s %v: chances add up to %v, expectation %v", n, s, chance, mean)
				}
				if (second >= square*(1-1e-9)) != bool(which) || !(math.Abs(second/square-1) <= 0.01) {
					t.Errorf("%d numbers of s %v: E[S²] is %v, wider %v, of the true law %v", n, s, second, which, square)
				}
			}
		}
	}
}

// Of two bins δ is an integral over one dimension: with the sum of the two outcomes' likelihood
// ratios a + b, E[(a + b - 2e^ε)₊] of the log-normal b is in closed form.
func TestPairOfTwoBins(t *testing.T) {
	for _, sigma := range []float64{0.5, 1, 4} {
		removed, added := BallsInBins(2, sigma)
		for _, epsilon := range []float64{0, 0.1, 0.5} {
			s := 1 / sigma
			phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
			call := func(k float64) float64 { // E[(b - k)₊]
				if k <= 0 {
					return 1 - k
				}
				d := (-math.Log(k) - s*s/2) / s
				return phi(d+s) - k*phi(d)
			}
			var up, down float64
			const h = 1e-3
			for x := -12.0; x < 12+2*s; x += h {
				a, density := math.Exp(s*x-s*s/2), math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)*h
				up += density * call(2*math.Exp(epsilon)-a) / 2
				k := 2*math.Exp(-epsilon) - a // E[(k - b)₊] = E[(b - k)₊] + k - 1
				down += density * (call(k) + k - 1) * math.Exp(epsilon) / 2
			}
			for _, c := range []struct {
				pair Bounded
				want float64
			}{{removed, up}, {added, down}} {
				low, high := Delta(c.pair, epsilon)
				if !(low <= c.want*(1+1e-6) && c.want <= high*(1+1e-6) && high < low*1.01) {
					t.Errorf("σ %v: δ(%v) in [%v, %v], want %v", sigma, epsilon, low, high, c.want)
				}
			}
		}
	}
}
