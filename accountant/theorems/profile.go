package theorems

import "dpsgd/accountant/internal/numeric"

// profile is a privacy profile, delta as a function of epsilon: convex and falling
// in y = e^epsilon. rate is -d delta / d epsilon, at least 0.
type profile func(epsilon float64) (delta, rate float64)

// leastEpsilon returns an epsilon in [0, most] at which p was evaluated and found at most delta,
// the smallest up to a relative 1e-13. p(most) must be at most delta.
//
// The logarithm of a profile is close to concave in its tail: the chord then meets delta before the
// root, the tangent after it. Both ends move in, each aimed a little past its side of the root so
// that they meet; where the shape is another, bisection halves the bracket.
func leastEpsilon(p profile, delta, most float64) float64 {
	lo, hi := 0.0, most
	flo, rate := p(lo)
	if flo <= delta {
		return 0
	}
	fhi, _ := p(hi)
	move := func(x float64) {
		if !(x > lo && x < hi) {
			return
		}
		if f, r := p(x); f > delta {
			lo, flo, rate = x, f, r
		} else {
			hi, fhi = x, f
		}
	}
	const past = 4e-14
	for step := 0; step < 100 && hi-lo > 1e-13*hi; step++ {
		width := hi - lo
		if fhi > 0 {
			move(lo + width*numeric.Log(flo/delta)/numeric.Log(flo/fhi) - past*hi)
		}
		move(lo + numeric.Log(flo/delta)*flo/rate + past*hi)
		if hi-lo > width/4 {
			move(lo + (hi-lo)/2)
		}
	}
	return hi
}
