package pair

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// atoms is a distribution of the privacy loss under P on finitely many values, or the
// nodes of a quadrature. Its transform Σ p e^(sl) does not decay as Im s grows.
type atoms []atom

type atom struct{ p, loss float64 }

func (a atoms) cumulant(c, infinite float64) (k, k1, k2 float64) {
	if len(a) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	top := 0.0
	for _, n := range a {
		top = max(top, c*n.loss)
	}
	var excess, m, m1, m2 float64
	for _, n := range a {
		e := n.p * math.Exp(c*n.loss-top)
		excess += n.p * math.Expm1(c*n.loss)
		m += e
		m1 += e * n.loss
		m2 += e * n.loss * n.loss
	}
	k = math.Log1p(excess - infinite)
	if top > 30 {
		k = top + math.Log(m)
	}
	return k, m1 / m, m2/m - m1/m*m1/m
}

func (a atoms) line(c, step float64, count int, infinite, quadrature float64) Line {
	l := Line{Values: make([]complex128, count), Errors: make([]float64, count)}
	for _, n := range a {
		l.Scale = max(l.Scale, c*n.loss)
	}
	if l.Scale < 300 {
		l.Scale = 0
	}
	for j := range count {
		y := float64(j) * step
		var sum complex128
		size := quadrature
		if len(a)*count > maxWork/20 { // each is a sine, a cosine and an exponential
			l.Errors[j] = math.Inf(1)
			continue
		}
		for _, n := range a {
			x, phase := c*n.loss-l.Scale, y*n.loss
			exp := math.Exp(x)
			sin, cos := math.Sincos(phase)
			re, im := exp*cos, exp*sin
			if l.Scale == 0 { // e^v - 1 = e^x - 1 + e^x (e^(iφ) - 1)
				half := math.Sin(phase / 2)
				re = math.Expm1(x) - 2*exp*half*half
			}
			sum += complex(n.p*re, n.p*im)
			size += ulp * n.p * (8*math.Hypot(re, im) + 4*exp*(math.Abs(phase)+math.Abs(x)+l.Scale))
		}
		if l.Scale == 0 {
			sum -= complex(infinite, 0)
			size += ulp * infinite
		}
		l.Values[j], l.Errors[j] = sum, size
	}
	return l
}

// legendre counts the nodes of a Gauss-Legendre rule. On a function that is bounded by m in the
// ellipse with foci ±1 and semi-axes adding up to 2, its error is at most (64/15) m 2^(-2n)/(1-1/4)
// (Trefethen 2008, "Is Gauss Quadrature Better than Clenshaw-Curtis?", Theorem 4.5).
const legendre = 36

// nodes returns the atoms at both ends of the support, and Gauss-Legendre nodes on parts of (0, 1)
// in between, for |s| ≤ size. Times the greatest e^(cL), quadrature bounds their error. Half a part
// is r, and on its ellipse Re x goes 1.25 r and Im x 0.75 r far from the middle. u = (2x-1)/b stays
// so close to the real line there that 1-q+qe^u does not come near 0, and e^((1+s)L) moves by a
// bounded factor.
//
// Where more than maxParts parts are needed, nodes is nil and the error infinite.
func (s SampledLaplace) nodes(size float64) (nodes atoms, quadrature float64) {
	lambda := 1 / s.Scale
	add := func(base, u float64) { // base is the weight under Lap(0, b)
		loss := RemovedLoss(s.SamplingProbability, u)
		if s.Added {
			nodes = append(nodes, atom{base, -loss})
		} else {
			nodes = append(nodes, atom{base * math.Exp(loss), loss})
		}
	}
	add(0.5, -lambda)
	add(math.Exp(-lambda)/2, lambda)
	quadrature = betweenAtoms(lambda, size, func(weight, u float64) { add(weight/2, u) })
	if math.IsInf(quadrature, 1) {
		nodes = nil
	}
	return nodes, quadrature
}

// betweenAtoms calls add with the weight and u = λ(2x-1) of every node of a rule for ∫ f(u) λe^-λx
// dx over 0 ≤ x ≤ 1, for an f like e^((1+s)u), |s| ≤ size. It returns a bound of the rule's error
// for half of the integral: +Inf, without calls, if that takes too many nodes.
func betweenAtoms(lambda, size float64, add func(weight, u float64)) (quadrature float64) {
	const maxParts = 1 << 9
	r := min(0.5, 0.8/lambda, 3/((1+size)*lambda))
	if !(0.5/r < maxParts) {
		return math.Inf(1)
	}
	parts := int(math.Ceil(0.5 / r))
	r = 0.5 / float64(parts)
	x, w := make([]float64, legendre), make([]float64, legendre)
	for part := range parts {
		quad.Legendre{}.FixedLocations(x, w, 2*r*float64(part), 2*r*float64(part+1))
		for i := range x {
			add(w[i]*lambda*math.Exp(-lambda*x[i]), lambda*(2*x[i]-1))
		}
	}
	growth := math.Exp(2.5 * r * lambda * (2 + size))
	return 64.0 / 15 * math.Exp2(-2*legendre) / 0.75 * growth * lambda
}

var _ Transformer = SampledLaplace{}

func (s SampledLaplace) Cumulant() func(c float64) (k, k1, k2 float64) {
	return func(c float64) (k, k1, k2 float64) {
		nodes, _ := s.nodes(c)
		return nodes.cumulant(c, 0)
	}
}

// Line returns the transform as a sum over the two atoms and quadrature nodes between them.
func (s SampledLaplace) Line(c, step float64, count int) Line {
	nodes, quadrature := s.nodes(math.Hypot(c, step*float64(count)))
	_, greatest := s.Support()
	return nodes.line(c, step, count, 0, quadrature*math.Exp(max(c*greatest, 0)))
}

// Tail returns log M(c): M does not decay, because the losses have atoms.
func (s SampledLaplace) Tail(c, _ float64) float64 {
	k, _, _ := s.Cumulant()(c)
	return k
}
