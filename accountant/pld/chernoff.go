package pld

import (
	"math"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// chernoffDelta returns an upper bound of δ(ε) of one direction, not a tight one: the chance of an
// infinite loss plus κ(c) e^(K(c)-cε) at the saddle point c, with K the cumulant and κ as in
// logKappa. It is 1 where nothing is known.
func chernoffDelta(parts []pair.Part, epsilon float64) (float64, error) {
	p, err := newProblem(parts)
	if err != nil {
		return 0, err
	}
	c, err := p.saddleAtEpsilon(epsilon)
	if err != nil {
		return 1, nil
	}
	k, _, _ := p.cumulant(c)
	bound := min(math.Exp(roundedUp(k)-c*epsilon+logKappa(c)), p.totalVariation(), 1)
	if math.IsNaN(bound) {
		return 1, nil
	}
	return min(p.infinite*(1+pair.RoundingOfInfinite)+bound, 1), nil
}

// chernoffEpsilon returns an upper bound of ε at δ, not a tight one: the least of (K(c) + log κ(c)
// - log δ)/c over some c, the bound by Rényi divergences of all real orders 1 + c. It is +Inf where
// nothing is known.
func chernoffEpsilon(parts []pair.Part, delta float64) (float64, error) {
	p, err := newProblem(parts)
	if err != nil {
		return 0, err
	}
	if delta, _ = pair.WithoutInfinite(parts, delta); !(delta > 0) {
		return math.Inf(1), nil
	}
	if p.totalVariation() <= delta {
		return 0, nil
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
	return max(best, 0), nil
}

// roundedUp returns an upper bound of a cumulant that was computed as k.
func roundedUp(k float64) float64 { return k + 1e-8*math.Abs(k) }
