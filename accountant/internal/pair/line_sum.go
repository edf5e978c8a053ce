package pair

import (
	"math"
	"math/cmplx"
)

// resync is the number of steps after which a node's value is computed anew, not from
// the one before.
const resync = 32

// maxWork bounds the nodes times the places of one line: a few tenths of a second.
const maxWork = 3e8

// lineSum is the sum over the nodes of a pair of mixtures, at all places of a line.
type lineSum struct {
	c, step    float64
	count      int
	scale      float64
	nodes      []node
	linearA    float64 // the sum of that of the nodes
	linearB    float64 // the same
	dropped    float64 // real excess of the nodes left out
	quadrature float64 // bound for the error of the quadrature
}

// newLineSum returns the sum without the nodes whose real excess is negligible in total. |f|
// at c+iy is at most |z(z-1)|/((1+c)c) times |f| at c, by Taylor's formula.
func newLineSum(nodes []node, scale, c, step float64, count int) *lineSum {
	s := &lineSum{c: c, step: step, count: count, scale: scale, nodes: make([]node, 0, len(nodes))}
	total := 0.0
	for _, n := range nodes {
		total += n.excess
	}
	least := total * 1e-19 / float64(len(nodes))
	for _, n := range nodes {
		if n.excess < least {
			s.dropped += max(n.excess, 0)
			continue
		}
		s.nodes = append(s.nodes, n)
		s.linearA += n.linearA
		s.linearB += n.linearB
	}
	return s
}

// line returns the sum of the nodes at every place, with bounds of the errors: +Inf beyond maxWork.
func (s *lineSum) line() Line {
	l := Line{Values: make([]complex128, s.count), Errors: make([]float64, s.count), Scale: s.scale}
	if len(s.nodes) == 0 || len(s.nodes)*s.count > maxWork {
		for j := range l.Errors {
			l.Errors[j] = math.Inf(1)
		}
		return l
	}
	re, im := make([]float64, s.count), make([]float64, s.count)
	for _, n := range s.nodes {
		if s.scale > 0 {
			s.addExp(re, im, n)
		} else {
			s.addPhi2(re, im, n)
		}
	}
	sizes := s.sizes()
	for j := range l.Values {
		y := float64(j) * s.step
		if s.scale == 0 {
			re[j] += (1+s.c)*s.linearA - s.c*s.linearB
			im[j] += y * (s.linearA - s.linearB)
		}
		l.Values[j] = complex(re[j], im[j])
		growth := cmplx.Abs(complex(1+s.c, y)*complex(s.c, y)) / (s.c * (1 + s.c))
		l.Errors[j] = s.quadrature + s.dropped*growth + ulp*sizes.at(s, y)
	}
	return l
}

// addExp adds weight·e^v, v = exponent + iy·loss, of node n to re + i·im at every place y: from one
// place to the next it turns by e^(i·step·loss).
func (s *lineSum) addExp(re, im []float64, n node) {
	sin, cos := math.Sincos(s.step * n.loss)
	var x, y float64
	for j := range re {
		if j%resync == 0 {
			ySin, yCos := math.Sincos(float64(j) * s.step * n.loss)
			x, y = n.exp*yCos, n.exp*ySin
		}
		re[j] += x
		im[j] += y
		x, y = x*cos-y*sin, x*sin+y*cos
	}
}

// addPhi2 adds weight·φ₂(v), φ₂(v) = e^v - 1 - v, likewise. With R = e^u, u = i·step·loss, one place
// to the next takes φ₂(v) to
//
//	φ₂(v+u) = R φ₂(v) + (R-1) v + φ₂(u),
//
// which has no cancellation, however small v is.
func (s *lineSum) addPhi2(re, im []float64, n node) {
	u := s.step * n.loss
	sin, cos := math.Sincos(u)
	uRe, uIm := phi2(0, u, 1)
	half := math.Sin(u / 2)
	rRe := -2 * half * half // R - 1 = rRe + i sin
	w := n.weight
	for from := 0; from < len(re); from += resync {
		to := min(from+resync, len(re))
		vIm := float64(from) * u
		x, y := n.phi2(vIm)
		vRe := w * n.exponent
		vIm *= w
		addRe, addIm := re[from:to], im[from:to]
		addIm = addIm[:len(addRe)]
		// v + φ₂(u) is linear in the imaginary part of v.
		constRe, constIm := rRe*vRe-sin*vIm+w*uRe, sin*vRe+rRe*vIm+w*uIm
		growRe, growIm := -sin*w*u, rRe*w*u
		for j := range addRe {
			addRe[j] += x
			addIm[j] += y
			x, y = x*cos-y*sin+constRe, x*sin+y*cos+constIm
			constRe += growRe
			constIm += growIm
		}
	}
}

// sizes bounds the sum of the absolute values that line adds up, as functions of y. In its fields w
// is the weight of a node, x its exponent and v = x + iy·loss.
type sizes struct {
	exp, linear, loss  float64 // Σ w e^x, Σ w (1+|x|), Σ w |loss|
	square, lossSquare float64 // Σ w e^max(x,0) x²/2, … loss²/2: |φ₂(v)| ≤ e^max(x,0) |v|²/2
	phase, exponent    float64 // Σ w e^x |loss|, Σ w e^x |x|
}

func (s *lineSum) sizes() sizes {
	var z sizes
	for _, n := range s.nodes {
		z.exp += n.exp
		z.linear += n.weight * (1 + math.Abs(n.exponent))
		z.loss += n.weight * math.Abs(n.loss)
		growth := max(n.exp, n.weight)
		z.square += growth * n.exponent * n.exponent / 2
		z.lossSquare += growth * n.loss * n.loss / 2
		z.phase += n.exp * math.Abs(n.loss)
		z.exponent += n.exp * math.Abs(n.exponent)
	}
	return z
}

// at returns a bound of the rounding error of the sum at y, in units of ulp: each step of a
// recurrence adds a few, relative to φ₂, and each phase adds as many as its size in radians.
func (z sizes) at(s *lineSum, y float64) float64 {
	const perStep = 4
	if s.scale > 0 {
		return (8+perStep*resync)*z.exp + 4*(y*z.phase+z.exponent)
	}
	square := z.square + y*y*z.lossSquare
	phi := min(z.exp+z.linear+y*z.loss, square)
	// φ₂′(v) = e^v - 1 is at most |v| e^max(x,0).
	return (8+perStep*resync)*phi + 4*min(y*z.phase+z.exponent+phi, 2*square) +
		8*(math.Hypot(1+s.c, y)*math.Abs(s.linearA)+math.Hypot(s.c, y)*math.Abs(s.linearB))
}
