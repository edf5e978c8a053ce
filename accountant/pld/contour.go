package pld

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// `exact` inverts the transform of the privacy loss. For a composition with privacy loss L = Σ L_t
// under P, and M(s) = E[e^(sL)] = Π M_t(s),
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

// errSlow is returned where the integrand decays too slowly for the work allowed (few releases, or
// a loss with atoms) and where a pair has no transform.
var errSlow = fmt.Errorf("%w: contour: the transform decays too slowly", accountant.ErrUncertified)

// contourDelta returns bounds of δ at ε ≥ 0 of the composition in one direction.
//
// An error matches accountant.ErrUncertified, also where a pair is not a pair.Transformer. So do
// the errors of the other functions here.
func contourDelta(parts []pair.Part, epsilon float64) (accountant.Interval, error) {
	p, err := newProblem(parts)
	if err != nil {
		return accountant.Interval{}, err
	}
	c, err := p.saddleAtEpsilon(epsilon)
	if err != nil {
		return accountant.Interval{}, err
	}
	best, err := p.attempts(c, epsilon, func(l *line) (accountant.Interval, float64, float64) {
		logDelta, relative := l.delta(epsilon)
		return accountant.Interval{Lower: logDelta + math.Log1p(-relative), Upper: logDelta + math.Log1p(relative)}, epsilon, relative
	})
	if err != nil {
		return accountant.Interval{}, err
	}
	if p.infinite > 0 { // an outcome that gives the record away
		best.Lower = numeric.LogAddExp(best.Lower, math.Log(p.infinite))
		best.Upper = numeric.LogAddExp(best.Upper, math.Log(p.infinite))
	}
	// The truth is above 0, also where no float64 can hold it.
	return accountant.Interval{Lower: math.Exp(best.Lower), Upper: max(math.Exp(min(best.Upper, 0)), math.SmallestNonzeroFloat64)}, nil
}

// contourEpsilon returns bounds of the least ε ≥ 0 with δ(ε) ≤ delta of the composition in one
// direction: +Inf where outcomes that give the record away are likelier than delta.
func contourEpsilon(parts []pair.Part, delta float64) (accountant.Interval, error) {
	p, err := newProblem(parts)
	if err != nil {
		return accountant.Interval{}, err
	}
	left, lower := pair.WithoutInfinite(parts, delta)
	switch {
	case !(left > 0):
		return accountant.Interval{Lower: lower, Upper: math.Inf(1)}, nil
	case p.totalVariation() <= delta:
		return accountant.Interval{}, nil
	}
	target := numeric.Log(left)
	c, epsilon, err := p.saddleAtDelta(target)
	if err != nil {
		return accountant.Interval{}, err
	}
	// The estimate of ε can be far off where few releases dominate; then the line that was
	// made for it finds a better one.
	return p.attempts(c, epsilon, func(l *line) (accountant.Interval, float64, float64) { return l.solve(target) })
}

// attempts makes a line for each of cancellations, the first at epsilon, until the relative error
// of ask's answer is below enough. It returns the best answer, or errSlow if none is bearable. ask
// returns an answer, the ε to make the next line for (NaN: make none) and the relative error of δ.
func (p *problem) attempts(c, epsilon float64, ask func(*line) (i accountant.Interval, next, relative float64)) (best accountant.Interval, err error) {
	least := math.Inf(1)
	for _, cancellation := range cancellations {
		line, err := p.line(c, epsilon, cancellation)
		if err != nil {
			break
		}
		i, next, relative := ask(line)
		if relative < least {
			best, least = i, relative
		}
		if least < enough || math.IsNaN(next) {
			break
		}
		if next = max(next, 0); next != epsilon {
			epsilon = next
			if c, err = p.saddleAtEpsilon(epsilon); err != nil {
				break
			}
		}
	}
	if !(least < bearable) {
		return accountant.Interval{}, errSlow
	}
	return best, nil
}

// cancellations are the nats by which the terms of a line may cancel, in the order of the attempts:
// the more may, the fewer terms are needed. An attempt whose relative error of δ is below enough is
// the last one; an attempt whose error is not below bearable is no answer.
var cancellations = [...]float64{5, 1}

const (
	enough   = 2e-9
	bearable = 0.02
)

// problem holds the releases whose composition is analysed in one direction.
type problem struct {
	parts    []part
	infinite float64 // the chance of an infinite loss
}

// part is count releases of a pair, with its cumulant.
type part struct {
	pair.Transformer
	count    float64
	cumulant func(c float64) (k, k1, k2 float64)
}

func newProblem(parts []pair.Part) (*problem, error) {
	p := &problem{infinite: pair.Infinite(parts)}
	for _, release := range parts {
		t, ok := release.Pair.(pair.Transformer)
		if !ok {
			return nil, errSlow
		}
		p.parts = append(p.parts, part{t, float64(release.Count), t.Cumulant()})
	}
	return p, nil
}

// totalVariation returns an upper bound of δ(0) of the composition: the sum over its releases.
func (p *problem) totalVariation() float64 {
	sum := 0.0
	for _, part := range p.parts {
		above, other := part.Above(0)
		sum += part.count * (above - other + 1e-12*above)
	}
	return sum
}

// cumulant returns K(c) = log M(c) of the composition, and K′(c) and K″(c).
func (p *problem) cumulant(c float64) (k, k1, k2 float64) {
	for _, part := range p.parts {
		a, b, d := part.cumulant(c)
		k, k1, k2 = k+part.count*a, k1+part.count*b, k2+part.count*d
	}
	return k, k1, k2
}
