package pair

import (
	"math"
	"math/cmplx"
	"slices"
)

// The transform of a pair of mixtures is an integral over the normal density. In units
// of σ, with A and B for the densities of P and Q over that of N(0, σ²) and z = 1 + s,
//
//	M(s) - 1 = ∫ φ(t) f(t) dt,   f = A^z B^(1-z) - 1 - z (A - 1) + (z-1) (B - 1),
//
// because A and B have expectation 1. On the real line f is nowhere negative (the
// weighted arithmetic mean of A and B is at least their geometric mean), so summing
// it loses nothing where M - 1 is 1e-14. The sum is by the trapezoid rule, whose error is
// known: if |F(t+iy)|, F = φf, is integrable in the strip |y| ≤ b, with integrals along
// y = ±b of at most I, it is at most 2I/(e^(2πb/h) - 1) (Trefethen, Weideman 2014,
// Theorem 5.1).
//
// For that bound: A^z B^(1-z) - 1 - … = B·F(r) with r = A/B and the remainder
// F(r) = r^z - 1 - z (r-1) = z (z-1) (r-1)² ∫₀¹ (1-θ) (1+θ(r-1))^(z-2) dθ of
// Taylor's formula, in which the argument of 1+θ(r-1) is never further from 0 than
// that of r. While |y| max|mean|/σ < π/2 all components of A and of B have arguments
// in (-π/2, π/2), so neither has a zero.

var _ Transformer = Mixtures{}

const (
	// cutoff is how far, in standard deviations, from the centres of the Gaussians that
	// bound F the sums go: φ(10)/φ(0) = 2e-22.
	cutoff = 10

	// accuracy is the logarithm of the error of a sum relative to the real excess.
	accuracy = 37.0

	maxNodes = 1 << 17
)

// shift is a pair of single Gaussians, the distance of their means in σ.
func (m Mixtures) shift() (distance float64, ok bool) {
	if len(m.P) != 1 || len(m.Q) != 1 {
		return 0, false
	}
	return (m.P[0].Mean - m.Q[0].Mean) / m.Sigma, true
}

// extent returns the largest mean of P and the smallest of Q, at least and at most 0.
func (m Mixtures) extent() (most, least float64) {
	for _, c := range m.P {
		most = max(most, c.Mean)
	}
	for _, c := range m.Q {
		least = min(least, c.Mean)
	}
	return most, least
}

// interval returns where F is not negligible at Re s = c. A^z is at most the largest of
// the components' z-th powers, Gaussians around z·mean/σ, and B^(1-z) grows no faster
// than with the component furthest out. Where A and B are close to 1, F is as the squares
// of their differences from it.
func (m Mixtures) interval(c float64) (from, to float64) {
	most, least := m.extent()
	return 2*least/m.Sigma - cutoff, (max(2, 1+c)*most-c*least)/m.Sigma + cutoff
}

// strip is the widest half-width b in use: below πσ/(2 max|mean|), and not beyond
// what a Gaussian can use.
func (m Mixtures) strip() float64 {
	most, least := m.extent()
	return min(0.95*math.Pi/2*m.Sigma/max(most, -least), 9)
}

// coarse is a step for sums that are only bounds.
func (m Mixtures) coarse() float64 {
	most, least := m.extent()
	return min(0.2, 0.2*m.Sigma/max(most, -least))
}

// Cumulant returns K with its derivatives, from a table that grows with c.
func (m Mixtures) Cumulant() func(c float64) (k, k1, k2 float64) {
	if d, ok := m.shift(); ok { // L is normal with variance d² and mean d²/2 under P
		return func(c float64) (k, k1, k2 float64) {
			return d * d / 2 * c * (1 + c), d * d / 2 * (1 + 2*c), d * d
		}
	}
	const digits = 26 // in nats
	b := min(m.strip(), math.Sqrt(2*digits))
	h := 2 * math.Pi * b / (digits + b*b/2)
	limit := 0.0
	var table []node
	return func(c float64) (k, k1, k2 float64) {
		if c > limit {
			limit = 1.5 * c
			from, to := m.interval(limit)
			table = m.grid(from, to, h)
		}
		nodes, scale := valuesAt(c, table)
		var excess, m1, m2 float64 // M - 1 and the derivatives of M, over e^scale
		for _, n := range nodes {
			excess += n.excess
			m1 += n.excess1
			m2 += n.excess2
		}
		switch {
		case len(nodes) == 0:
			return math.NaN(), math.NaN(), math.NaN()
		case scale > 0:
			return scale + math.Log(excess), m1 / excess, m2/excess - m1/excess*m1/excess
		}
		return math.Log1p(excess), m1 / (1 + excess), m2/(1+excess) - m1/(1+excess)*m1/(1+excess)
	}
}

// node is a point of a sum. A grid holds the first part, valuesAt the rest.
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

// grid evaluates A and B at equal distances of about h. It is empty where there would be too
// many points.
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
		logA, linearA := logMixture(m.P, m.Sigma, t*m.Sigma)
		logB, linearB := logMixture(m.Q, m.Sigma, t*m.Sigma)
		n := node{logWeight: logH - t*t/2, loss: logA - logB, logB: logB}
		n.weight = math.Exp(n.logWeight)
		n.linearA, n.linearB = n.weight*linearA, n.weight*linearB
		nodes = append(nodes, n)
	}
	return nodes
}

// valuesAt evaluates F on a grid at Re s = c. The scale is 0 unless M is out of the range
// of float64. The result is valid until the next call with the same grid.
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

// scaledAt is for transforms so large that next to them 1 and the linear terms are nothing.
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

// phi2 is weight·(e^v - 1 - v) at v = exponent + iy·loss, given phase = y·loss.
func (n *node) phi2(phase float64) (re, im float64) {
	if math.Abs(n.exponent)+math.Abs(phase) < 0.25 {
		re, im = phi2(n.exponent, phase, 0)
		return n.weight * re, n.weight * im
	}
	sin, cos := math.Sincos(phase)
	return n.exp*cos - n.weight*(1+n.exponent), n.exp*sin - n.weight*phase
}

// shiftLine is the line of a pair of single Gaussians at distance √variance: M(s) =
// e^(variance·s(1+s)/2).
func shiftLine(variance, c, step float64, count int) Line {
	l := Line{Values: make([]complex128, count), Errors: make([]float64, count)}
	if top := variance / 2 * c * (1 + c); top > 300 {
		l.Scale = top
	}
	for j := range count {
		s := complex(c, float64(j)*step)
		k := complex(variance/2, 0)*s*(1+s) - complex(l.Scale, 0)
		exp := math.Exp(real(k))
		sin, cos := math.Sincos(imag(k))
		re, im := exp*cos, exp*sin
		if l.Scale == 0 { // less 1
			half := math.Sin(imag(k) / 2)
			re = math.Expm1(real(k))*cos - 2*half*half
		}
		l.Values[j] = complex(re, im)
		l.Errors[j] = 8 * ulp * (math.Hypot(re, im) + exp*(cmplx.Abs(k)+l.Scale))
	}
	return l
}

// Line sums for |Im s| < step·count.
func (m Mixtures) Line(c, step float64, count int) Line {
	if d, ok := m.shift(); ok {
		return shiftLine(d*d, c, step, count)
	}
	reach := step * float64(count)
	from, to := m.interval(c)
	k, _, _ := m.Cumulant()(c)
	var b, h, logI float64
	for width := m.strip(); width > 1e-6; width /= 2 {
		log := m.logStripIntegral(c, reach, width, from, to)
		// 2πb/h = log(2I/error)
		wide := 2 * math.Pi * width / max(math.Ln2+log-logExcess(k)+accuracy, 1)
		if wide > h {
			b, h, logI = width, wide, log
		} else if h > 0 {
			break
		}
	}
	nodes, scale := valuesAt(c, m.grid(from, to, h))
	s := newLineSum(nodes, scale, c, step, count)
	s.quadrature = math.Exp(math.Ln2 + logI - scale - logExpm1(2*math.Pi*b/h))
	return s.line()
}

// logExcess returns log(M - 1), given log M.
func logExcess(k float64) float64 { return logExpm1(k) }

// logExpm1 is log(e^x - 1) for x > 0.
func logExpm1(k float64) float64 {
	if k > 40 {
		return k
	}
	return math.Log(math.Expm1(k))
}

// logStripIntegral bounds the logarithm of the integral of |F(t+ib)| over t for all |Im s|
// ≤ reach, doubled for the coarse sum that it is computed by.
func (m Mixtures) logStripIntegral(c, reach, b, from, to float64) float64 {
	step := m.coarse()
	x := 1 + c
	line := m.shiftedBy(b)
	logZ := math.Log(cmplx.Abs(complex(x, reach) * complex(c, reach)))
	top, sum := math.Inf(-1), 0.0
	for t := from; t <= to; t += step {
		logR, argR, logB := line.at(t)
		// |z (z-1) (r-1)²/2 · (1+θ(r-1))^(z-2)|
		e := logZ + 2*logDistance(logR, argR) + logB + reach*math.Abs(argR) - t*t/2 - math.Ln2
		if x >= 2 {
			e += (x - 2) * max(logR, 0)
		} else { // the segment from 1 to r passes 0 no closer than this
			e += (x - 2) * (min(logR, 0) + math.Log(math.Cos(argR/2)))
		}
		if math.IsNaN(e) {
			continue // r = 1 and B = 0 at once, far out
		}
		if e > top {
			top, sum = e, sum*math.Exp(top-e)+1
		} else {
			sum += math.Exp(e - top)
		}
	}
	return top + math.Log(2*step*sum/math.Sqrt(2*math.Pi)) + b*b/2
}

// logDistance is log|r - 1|.
func logDistance(logR, argR float64) float64 {
	if logR > 40 {
		return logR
	}
	half := math.Sin(argR / 2)
	size := math.Expm1(logR) // |r|-1; |r-1|² = (|r|-1)² + 4|r| sin²(arg/2)
	return math.Log(size*size+4*(1+size)*half*half) / 2
}

// shifted is a pair of mixtures on the line Im t = b.
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

// at returns log|r|, arg r and log|B| at t + ib.
func (s shifted) at(t float64) (logR, argR, logB float64) {
	logA, argA := logShifted(s.p, t)
	logB, argB := logShifted(s.q, t)
	return logA - logB, argA - argB, logB
}

// logShifted is the logarithm of a mixture over N(0, σ²) at t + ib.
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

// Tail moves the line of integration:
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
	step := m.coarse()
	from, to := m.interval(c)
	line := m.shiftedBy(b)
	top, sum := math.Inf(-1), 0.0
	for t := from; t <= to; t += step {
		logR, argR, logB := line.at(t)
		e := logB + (1+c)*logR - reach*argR - t*t/2
		if e > top {
			top, sum = e, sum*math.Exp(top-e)+1
		} else if e > top-50 {
			sum += math.Exp(e - top)
		}
	}
	return top + math.Log(step*sum/math.Sqrt(2*math.Pi)) + b*b/2 + 1e-9
}
