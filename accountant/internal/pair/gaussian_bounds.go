package pair

import (
	"math"
	"math/cmplx"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// Bounds for the transform of a pair of mixtures, by integrals along other lines of the plane.

// logCoarse returns the logarithm of the integral of φ(0)·exp(f), by a sum with a step that is fine
// enough for bounds. A point at which f is NaN, far out, adds nothing.
func (m Mixtures) logCoarse(f func(t float64) float64, from, to float64) float64 {
	most, least := m.Extent()
	step := min(0.2, 0.2*m.Sigma/max(most, -least))
	var sum numeric.LogSum
	for t := from; t <= to; t += step {
		if e := f(t); !math.IsNaN(e) {
			sum.Add(e)
		}
	}
	return sum.Log() + math.Log(step/math.Sqrt(2*math.Pi))
}

// logStripIntegral bounds the logarithm of the integral of |F(t+ib)| over t for all |Im s|
// ≤ reach, doubled for the coarse sum that it is computed by.
func (m Mixtures) logStripIntegral(c, reach, b, from, to float64) float64 {
	x := 1 + c
	line := m.shiftedBy(b)
	logZ := math.Log(cmplx.Abs(complex(x, reach) * complex(c, reach)))
	integrand := func(t float64) float64 {
		logR, argR, logB := line.at(t)
		// |z (z-1) (r-1)²/2 · (1+θ(r-1))^(z-2)|
		e := logZ + 2*logDistance(logR, argR) + logB + reach*math.Abs(argR) - t*t/2 - math.Ln2
		if x >= 2 {
			return e + (x-2)*max(logR, 0)
		}
		// The segment from 1 to r passes 0 no closer than this.
		return e + (x-2)*(min(logR, 0)+math.Log(math.Cos(argR/2)))
	}
	return m.logCoarse(integrand, from, to) + math.Ln2 + b*b/2
}

// logDistance returns log|r - 1|, given log|r| and arg r.
func logDistance(logR, argR float64) float64 {
	if logR > 40 {
		return logR
	}
	half := math.Sin(argR / 2)
	size := math.Expm1(logR) // |r|-1; |r-1|² = (|r|-1)² + 4|r| sin²(arg/2)
	return math.Log(size*size+4*(1+size)*half*half) / 2
}

// shifted holds the densities A and B of a pair of mixtures on the line Im t = b.
type shifted struct{ p, q []shiftedComponent }

// shiftedComponent is weight·e^(rate·t + offset) (cos + i sin).
type shiftedComponent struct{ rate, offset, weight, cos, sin float64 }

func (m Mixtures) shiftedBy(b float64) shifted {
	shift := func(cs []Component) (out []shiftedComponent) {
		for _, c := range cs {
			rate := c.Mean / m.Sigma
			sin, cos := math.Sincos(rate * b)
			out = append(out, shiftedComponent{rate, -rate * rate / 2, c.Weight, cos, sin})
		}
		return out
	}
	return shifted{shift(m.P), shift(m.Q)}
}

// at returns log|r|, arg r and log|B| at t + ib, for r = A/B.
func (s shifted) at(t float64) (logR, argR, logB float64) {
	logA, argA := logShifted(s.p, t)
	logB, argB := logShifted(s.q, t)
	return logA - logB, argA - argB, logB
}

// logShifted returns log|d| and arg d at t + ib, d being a mixture's density over that of N(0, σ²).
func logShifted(cs []shiftedComponent, t float64) (log, arg float64) {
	if len(cs) == 1 {
		return cs[0].rate*t + cs[0].offset, math.Atan2(cs[0].sin, cs[0].cos)
	}
	scale := 0.0
	for _, c := range cs {
		scale = max(scale, c.rate*t+c.offset)
	}
	var re, im float64
	for _, c := range cs {
		e := c.weight * math.Exp(c.rate*t+c.offset-scale)
		re += e * c.cos
		im += e * c.sin
	}
	return scale + math.Log(re*re+im*im)/2, math.Atan2(im, re)
}

// Tail bounds log |M(c+iy)| for |y| ≥ reach by moving the line of integration:
//
//	|M(c+iy)| ≤ e^(b²/2) ∫ φ(t) |A(t+ib)| |r(t+ib)|^c e^(-y arg r(t+ib)) dt
//
// for every b in the strip. The argument of r is at least 0 for b ≥ 0, the means of P
// being at least 0 and those of Q at most, so the bound falls with y.
func (m Mixtures) Tail(c, reach float64) float64 {
	if d, ok := m.shift(); ok {
		return d * d / 2 * (c*(1+c) - reach*reach)
	}
	best := math.Inf(1)
	for b := m.strip(); b > 1e-9; b /= math.Sqrt2 {
		bound := m.tailAt(c, reach, b)
		if bound > best {
			break
		}
		best = bound
	}
	return best
}

func (m Mixtures) tailAt(c, reach, b float64) float64 {
	from, to := m.interval(c)
	line := m.shiftedBy(b)
	integrand := func(t float64) float64 {
		logR, argR, logB := line.at(t)
		return logB + (1+c)*logR - reach*argR - t*t/2
	}
	return m.logCoarse(integrand, from, to) + b*b/2 + 1e-9
}

// node is a point t of a sum. grid sets the fields before exponent, valuesAt the others.
type node struct {
	logWeight float64 // log hφ(t)
	weight    float64
	loss      float64 // log A - log B
	logB      float64
	linearA   float64 // log A - (A - 1), times weight
	linearB   float64 // log B - (B - 1), times weight

	exponent                 float64 // of A^z B^(1-z) at z = 1+c: log B + (1+c) loss
	exp                      float64 // weight·e^exponent, over e^scale
	excess, excess1, excess2 float64 // weight·f and its derivatives in c, over e^scale
}

// grid returns the nodes of a sum, with A, B and weights, at equal distances of at most h (in σ).
// It is nil where there would be more than maxNodes.
func (m Mixtures) grid(from, to, h float64) []node {
	h = min(h, (to-from)/40)
	first, last := math.Floor(from/h), math.Ceil(to/h)
	if !(last-first < maxNodes) {
		return nil
	}
	nodes := make([]node, 0, int(last-first)+1)
	logH := math.Log(h / math.Sqrt(2*math.Pi))
	for j := first; j <= last; j++ {
		t := j * h
		logA, linearA := LogMixture(m.P, m.Sigma, t*m.Sigma)
		logB, linearB := LogMixture(m.Q, m.Sigma, t*m.Sigma)
		n := node{logWeight: logH - t*t/2, loss: logA - logB, logB: logB}
		n.weight = math.Exp(n.logWeight)
		n.linearA, n.linearB = n.weight*linearA, n.weight*linearB
		nodes = append(nodes, n)
	}
	return nodes
}

// valuesAt evaluates F at Re s = c, divided by e^scale, in the nodes of grid. The scale is 0 unless
// M is out of the range of float64. The result is valid until the next call with the same grid.
func valuesAt(c float64, grid []node) (nodes []node, scale float64) {
	top := math.Inf(-1)
	for i := range grid {
		n := &grid[i]
		n.exponent = n.logB + (1+c)*n.loss
		top = max(top, n.exponent+n.logWeight)
	}
	if top > 300 {
		return scaledAt(grid, top), top
	}
	for i := range grid {
		n := &grid[i]
		n.exp = math.Exp(n.exponent + n.logWeight)
		phi, _ := n.phi2(0)
		n.excess = phi + (1+c)*n.linearA - c*n.linearB
		n.excess1 = n.loss*(phi+n.weight*n.exponent) + n.linearA - n.linearB
		n.excess2 = n.loss * n.loss * n.exp
	}
	return grid, 0
}

// scaledAt is valuesAt, in new nodes, for an M beside which 1 and the linear terms are negligible.
func scaledAt(grid []node, scale float64) []node {
	nodes := slices.Clone(grid)
	for i := range nodes {
		n := &nodes[i]
		n.exp = math.Exp(n.exponent + n.logWeight - scale)
		n.excess = n.exp
		n.excess1 = n.excess * n.loss
		n.excess2 = n.excess1 * n.loss
		n.linearA, n.linearB = 0, 0
	}
	return nodes
}

// phi2 returns weight·(e^v - 1 - v) at v = exponent + i·phase, where phase = y·loss.
func (n *node) phi2(phase float64) (re, im float64) {
	if math.Abs(n.exponent)+math.Abs(phase) < 0.25 {
		re, im = phi2(n.exponent, phase, 0)
		return n.weight * re, n.weight * im
	}
	sin, cos := math.Sincos(phase)
	return n.exp*cos - n.weight*(1+n.exponent), n.exp*sin - n.weight*phase
}
