package contour

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// Below reports whether δ(ε) is certainly at most delta, by Chernoff's bound.
func Below(parts []Part, epsilon, delta float64) bool { return ChernoffDelta(parts, epsilon) < delta }

// ChernoffDelta returns an upper bound for δ(ε), not a tight one: κ(c) e^(K(c)-cε) at the saddle
// point c. It is 1 where nothing is known.
func ChernoffDelta(parts []Part, epsilon float64) float64 {
	p := newProblem(parts)
	c, err := p.saddleAtEpsilon(epsilon)
	if err != nil {
		return 1
	}
	k, _, _ := p.cumulant(c)
	bound := min(math.Exp(roundedUp(k)-c*epsilon+logKappa(c)), p.totalVariation(), 1)
	if math.IsNaN(bound) {
		return 1
	}
	return min(p.infinite*(1+1e-12)+bound, 1)
}

// ChernoffEpsilon returns an upper bound for ε at δ, not a tight one: the least of (K(c) + log
// κ(c) - log δ)/c over some c, which is what Rényi divergences of all real orders 1 + c
// say. It is +Inf where nothing is known.
func ChernoffEpsilon(parts []Part, delta float64) float64 {
	p := newProblem(parts)
	if delta = delta - p.infinite*(1+1e-12); !(delta > 0) {
		return math.Inf(1)
	}
	if p.totalVariation() <= delta {
		return 0
	}
	best, at := math.Inf(1), 0.0 // at log c
	scan := func(from, to, step float64) {
		for x := from; x < to; x += step {
			c := math.Exp(x)
			k, _, _ := p.cumulant(c)
			bound := (roundedUp(k) + logKappa(c) - numeric.Log(delta)) / c
			if bound < best {
				best, at = bound, x
			} else if !(bound < 4*best) {
				return
			}
		}
	}
	scan(-6, 18, 0.05)
	scan(at-0.05, at+0.05, 0.001)
	return max(best, 0)
}

// roundedUp is above a cumulant that was computed as k.
func roundedUp(k float64) float64 { return k + 1e-8*math.Abs(k) }
