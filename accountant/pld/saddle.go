package pld

import (
	"math"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// saddleEpsilon returns the ε whose saddle point is c, given K′(c): there the exponent of the
// integrand on the real line, K(c) - cε - log c - log(1+c), a convex function, is least.
func saddleEpsilon(c, k1 float64) float64 { return k1 - 1/c - 1/(1+c) }

// saddleAtEpsilon returns the saddle point for ε, to a few percent. Its error affects the work and
// not the answer.
func (p *problem) saddleAtEpsilon(epsilon float64) (float64, error) {
	excess := func(c float64) float64 { // grows with c
		_, k1, _ := p.cumulant(c)
		return saddleEpsilon(c, k1) - epsilon
	}
	return bracketAndHalve(excess)
}

// saddleAtDelta returns the saddle point c for about the ε at which log δ is target, and that ε,
// by the leading term of the saddle-point expansion:
//
//	log δ ≈ K(c) - cε - log c - log(1+c) - log(2πK₂)/2,   K₂ = K″(c) + 1/c² + 1/(1+c)².
func (p *problem) saddleAtDelta(target float64) (c, epsilon float64, err error) {
	excess := func(c float64) float64 { // grows with c
		k, k1, k2 := p.cumulant(c)
		curvature := k2 + 1/(c*c) + 1/(1+c)/(1+c)
		e := saddleEpsilon(c, k1)
		return target - (k - c*e - math.Log(c) - math.Log1p(c) - math.Log(2*math.Pi*curvature)/2)
	}
	if c, err = bracketAndHalve(excess); err != nil {
		return 0, 0, err
	}
	_, k1, _ := p.cumulant(c)
	if epsilon = saddleEpsilon(c, k1); epsilon < 0 {
		c, err = p.saddleAtEpsilon(0)
		return c, 0, err
	}
	return c, epsilon, nil
}

// bracketAndHalve returns the c > 0 at which the growing function f passes 0: to 2 %, or where |f|
// is below 0.02. It returns errSlow if it finds none.
func bracketAndHalve(f func(float64) float64) (float64, error) {
	const tolerance = 0.02
	lo, hi := math.NaN(), math.NaN()
	x, factor := 0.0, 1.0 // log c
	for range 64 {
		y := f(math.Exp(x)) // NaN: c is too large to compute with
		if y < 0 {
			lo = x
		} else {
			hi = x
		}
		if !math.IsNaN(lo) && !math.IsNaN(hi) {
			break
		}
		if y < 0 {
			x += factor
		} else {
			x -= factor
		}
		factor *= 1.25
	}
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return 0, errSlow
	}
	flo, fhi := f(math.Exp(lo)), f(math.Exp(hi))
	for hi-lo > tolerance { // regula falsi, Illinois variant, kept away from the ends
		x := lo + (hi-lo)*min(max(flo/(flo-fhi), 0.1), 0.9)
		if math.IsNaN(x) || math.IsInf(fhi, 0) {
			x = lo + (hi-lo)/2
		}
		y := f(math.Exp(x))
		switch {
		case math.Abs(y) < 0.02:
			return math.Exp(x), nil
		case y < 0:
			lo, flo, fhi = x, y, fhi/2
		default:
			hi, fhi, flo = x, y, flo/2
		}
	}
	return math.Exp(lo + (hi-lo)/2), nil
}

// chernoffDelta returns an upper bound of δ(ε) of one direction, not a tight one: the chance of an
// infinite loss plus κ(c) e^(K(c)-cε) at the saddle point c, with K the cumulant and κ as in
// logKappa, or δ(0) where that is less or c is not known.
func chernoffDelta(parts []pair.Part, epsilon float64) (float64, error) {
	p, err := newProblem(parts)
	if err != nil {
		return 0, err
	}
	bound := min(p.totalVariation(), 1)
	if c, err := p.saddleAtEpsilon(epsilon); err == nil {
		k, _, _ := p.cumulant(c)
		at := p.infinite*(1+pair.RoundingOfInfinite) + math.Exp(roundedUp(k)-c*epsilon+logKappa(c))
		if at < bound { // not NaN
			bound = at
		}
	}
	return bound, nil
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
