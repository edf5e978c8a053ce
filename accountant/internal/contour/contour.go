// Package contour inverts the transform of the privacy loss.
//
// For a composition with privacy loss L = Σ L_t under P, and M(s) = E[e^(sL)] = Π M_t(s),
//
//	δ(ε) = 1/(2πi) ∫ e^(-sε) M(s) / (s(s+1)) ds   over Re s = c, for any c > 0,
//
// because 1/(s(s+1)) is the transform of x ↦ (1-e^(-x))₊ (Alghamdi et al. 2023, "The
// Saddle-Point Method in Differential Privacy", Proposition 3.1; Zhu, Dong, Wang 2022).
// The integral is computed by the trapezoid rule with a step h in Im s. By
// Poisson's summation formula the infinite sum is exactly
//
//	Σ_k e^(2πkc/h) δ(ε + 2πk/h)   over all integers k:
//
// δ(ε) and further terms, none of which is negative. So the sum converges from above, and
// Chernoff's bound for δ at the other points says by how much it is above. Together
// with bounds for the terms left out (Line.Tail), for the quadrature of each M_t and for
// rounding, this makes every answer an interval that contains the truth.
//
// c is chosen at the saddle point of the integrand on the real line, where the terms do not
// cancel, so that the relative error of δ is small however small δ is.
package contour

import (
	"errors"
	"math"

	"dpsgd/accountant/internal/pair"
)

// ErrUncertified is returned where the integrand decays too slowly for the work allowed: of
// few releases, or where the loss has atoms.
var ErrUncertified = errors.New("contour: the transform decays too slowly for a certified answer")

// Part is Count independent releases of one pair.
type Part struct {
	Pair  pair.Transformer
	Count int
}

// Interval contains the number asked for.
type Interval struct{ Lower, Upper float64 }

// Delta returns δ at ε ≥ 0 of the composition in one direction. LogDelta has the range
// for a δ below 1e-308.
func Delta(parts []Part, epsilon float64) (Interval, error) {
	i, err := LogDelta(parts, epsilon)
	return Interval{math.Exp(i.Lower), math.Exp(i.Upper)}, err
}

// LogDelta returns log δ at ε.
func LogDelta(parts []Part, epsilon float64) (Interval, error) {
	p := newProblem(parts)
	c, err := p.saddleAtEpsilon(epsilon)
	if err != nil {
		return Interval{}, err
	}
	var best Interval
	relative := math.Inf(1)
	for _, cancellation := range cancellations {
		line, err := p.line(c, epsilon, cancellation)
		if err != nil {
			break
		}
		logDelta, r := line.delta(epsilon)
		if r < relative {
			best, relative = Interval{logDelta + math.Log1p(-r), logDelta + math.Log1p(r)}, r
		}
		if relative < enough {
			break
		}
	}
	if !(relative < bearable) {
		return Interval{}, ErrUncertified
	}
	if p.infinite > 0 { // an outcome that gives the record away
		best.Lower, best.Upper = logAddExp(best.Lower, math.Log(p.infinite)), logAddExp(best.Upper, math.Log(p.infinite))
	}
	return Interval{best.Lower, min(best.Upper, 0)}, nil
}

// Epsilon returns the least ε ≥ 0 with δ(ε) ≤ delta of the composition in one
// direction: +Inf where outcomes that give the record away are likelier than delta.
func Epsilon(parts []Part, delta float64) (Interval, error) {
	p := newProblem(parts)
	const rounding = 1e-12 // of the infinite mass
	switch {
	case p.infinite*(1-rounding) >= delta:
		return Interval{math.Inf(1), math.Inf(1)}, nil
	case p.infinite*(1+rounding) >= delta: // rounding decides
		return Interval{0, math.Inf(1)}, nil
	}
	if p.totalVariation() <= delta {
		return Interval{}, nil
	}
	target := logOf(delta - p.infinite*(1+rounding))
	c, epsilon, err := p.saddleAtDelta(target)
	if err != nil {
		return Interval{}, err
	}
	// The estimate of ε can be far off where few releases dominate; then the line that was
	// made for it finds a better one.
	var best Interval
	relative := math.Inf(1)
	for _, cancellation := range cancellations {
		line, err := p.line(c, epsilon, cancellation)
		if err != nil {
			break
		}
		i, root, r := line.solve(target)
		if r < relative {
			best, relative = i, r
		}
		if relative < enough || math.IsNaN(root) {
			break
		}
		epsilon = max(root, 0)
		if c, err = p.saddleAtEpsilon(epsilon); err != nil {
			break
		}
	}
	if !(relative < bearable) {
		return Interval{}, ErrUncertified
	}
	return best, nil
}

// cancellations are how many nats the terms of a line may cancel by, in the order of the
// attempts: the more, the fewer terms. An attempt whose relative error of δ is below enough
// ends them; one below bearable is an answer.
var cancellations = [...]float64{5, 1}

const (
	enough   = 2e-9
	bearable = 0.02
)

// problem is the composition in one direction.
type problem struct {
	parts     []Part
	cumulants []func(c float64) (k, k1, k2 float64) // of the parts
	infinite  float64
}

func newProblem(parts []Part) *problem {
	p := &problem{parts: parts}
	finite := 0.0 // log of the chance of no infinite loss
	for _, part := range parts {
		p.cumulants = append(p.cumulants, part.Pair.Cumulant())
		finite += float64(part.Count) * math.Log1p(-part.Pair.Infinite())
	}
	p.infinite = -math.Expm1(finite)
	return p
}

// totalVariation bounds δ(0) of the composition by the sum over its parts.
func (p *problem) totalVariation() float64 {
	sum := 0.0
	for _, part := range p.parts {
		above, other := part.Pair.Above(0)
		sum += float64(part.Count) * (above - other + 1e-12*above)
	}
	return sum
}

// cumulant is K of the composition, with two derivatives.
func (p *problem) cumulant(c float64) (k, k1, k2 float64) {
	for i, part := range p.parts {
		a, b, d := p.cumulants[i](c)
		n := float64(part.Count)
		k, k1, k2 = k+n*a, k1+n*b, k2+n*d
	}
	return k, k1, k2
}

// The exponent of the integrand on the real line is K(c) - cε - log c - log(1+c), which is
// convex. Its least point is where ε = saddleEpsilon(c).
func saddleEpsilon(c, k1 float64) float64 { return k1 - 1/c - 1/(1+c) }

// saddleAtEpsilon returns the saddle point for ε, to a few percent: its place
// affects the work and not the answer.
func (p *problem) saddleAtEpsilon(epsilon float64) (float64, error) {
	excess := func(c float64) float64 { // grows with c
		_, k1, _ := p.cumulant(c)
		return saddleEpsilon(c, k1) - epsilon
	}
	return bracketAndHalve(excess)
}

// saddleAtDelta returns the saddle point c and about the ε for which δ is delta, by the
// leading term of the saddle-point expansion:
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

// bracketAndHalve finds where a growing function passes 0, to 2 % of c > 0.
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
		return 0, ErrUncertified
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

// logOf is math.Log, which on some platforms is wrong for subnormal numbers.
func logOf(x float64) float64 {
	if x < 0x1p-1000 {
		return math.Log(x*0x1p200) - 200*math.Ln2
	}
	return math.Log(x)
}

func logAddExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

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
			bound := (roundedUp(k) + logKappa(c) - logOf(delta)) / c
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
