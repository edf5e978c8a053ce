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

	"dpsgd/accountant/internal/numeric"
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
		best.Lower, best.Upper = numeric.LogAddExp(best.Lower, math.Log(p.infinite)), numeric.LogAddExp(best.Upper, math.Log(p.infinite))
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
	target := numeric.Log(delta - p.infinite*(1+rounding))
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
