package pair

import "math"

// BoundedRange is the pair of all mechanisms whose losses lie within some interval of width Range,
// wherever it lies, such as the exponential mechanism. With the range η, the worst of those whose
// loss is t or t-η has
//
//	δ(ε) = (1 - e^(t-η)) (1 - e^(ε-t))/(1 - e^-η)   for t-η ≤ ε ≤ t
//
// (Dong, Durfee, Rogers 2020, arXiv:1909.13830, Lemma 3.3), which is the greatest for t = (ε+η)/2:
//
//	δ(ε) = (1 - e^((ε-η)/2))²/(1 - e^-η),   -η ≤ ε ≤ η.
//
// A greatest of convex functions of e^ε is convex, so it is the profile of a pair (Zhu, Dong, Wang
// 2022, Proposition 8): L has the density e^((l+η)/2)/2/(e^η - 1) on [-η, η] under P. That is the
// law of the loss of Laplace noise between its two atoms. It serves both directions, and every
// range from 1e-12 to 700.
type BoundedRange struct{ Range float64 }

var _ Transformer = BoundedRange{}

// Support returns minus the range, and the range.
func (b BoundedRange) Support() (least, greatest float64) { return -b.Range, b.Range }
func (BoundedRange) Infinite() float64                    { return 0 }

func (b BoundedRange) Above(l float64) (p, q float64) {
	eta := b.Range
	l = min(max(l, -eta), eta)
	all := -math.Expm1(-eta)
	return -math.Expm1((l-eta)/2) / all, math.Exp(-(l+eta)/2) * -math.Expm1((l-eta)/2) / all
}

// Below returns P[L ≤ l] and Q[L ≤ l]. By symmetry these are Q[L > -l] and P[L > -l].
func (b BoundedRange) Below(l float64) (p, q float64) {
	q, p = b.Above(-l)
	return p, q
}

// nodes returns Gauss-Legendre nodes for |s| ≤ size and their error as [SampledLaplace.nodes] does:
// under Q the density is the density of Laplace noise divided by the mass between its atoms.
func (b BoundedRange) nodes(size float64) (nodes atoms, quadrature float64) {
	all := -math.Expm1(-b.Range)
	quadrature = betweenAtoms(b.Range, size, func(weight, u float64) {
		nodes = append(nodes, atom{weight / all * math.Exp(u), u})
	})
	return nodes, quadrature * 2 / all
}

func (b BoundedRange) Cumulant() func(c float64) (k, k1, k2 float64) {
	return func(c float64) (k, k1, k2 float64) {
		nodes, _ := b.nodes(c)
		return nodes.cumulant(c, 0)
	}
}

// Line returns the transform as a sum over the nodes.
func (b BoundedRange) Line(c, step float64, count int) Line {
	nodes, quadrature := b.nodes(math.Hypot(c, step*float64(count)))
	return nodes.line(c, step, count, 0, quadrature*math.Exp(c*b.Range))
}

// Tail returns a bound for log |M(c+iy)|, |y| ≥ reach, of M(s) = sinh((s+½)η)/((2s+1) sinh(η/2)).
func (b BoundedRange) Tail(c, reach float64) float64 {
	eta := b.Range
	k, _, _ := b.Cumulant()(c)
	// log cosh((c+½)η) - log(2 sinh(η/2)), less the logarithm of |s+½|
	top := (c+0.5)*eta + math.Log1p(math.Exp(-(2*c+1)*eta)) - math.Ln2
	bottom := eta/2 + math.Log(-math.Expm1(-eta)) + math.Log(math.Hypot(c+0.5, reach))
	return min(k, top-bottom)
}
