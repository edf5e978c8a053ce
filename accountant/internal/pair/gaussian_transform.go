package pair

import (
	"math"
	"math/cmplx"

	"dpsgd/accountant/internal/numeric"
)

// The transform of a pair of mixtures is an integral over the normal density. In units
// of σ, with A and B for the densities of P and Q over that of N(0, σ²) and z = 1 + s,
//
//	M(s) - 1 = ∫ φ(t) f(t) dt,   f = A^z B^(1-z) - 1 - z (A - 1) + (z-1) (B - 1),
//
// because A and B have expectation 1. On the real line f is nowhere negative (the weighted
// arithmetic mean of A and B is at least their geometric mean), so summing it loses nothing where M
// - 1 is 1e-14. The sum is by the trapezoid rule, whose error is known: if |F(t+iy)|, F = φf, is
// integrable in the strip |y| ≤ b, with integrals along y = ±b of at most I, it is at most
// 2I/(e^(2πb/h) - 1) (Trefethen, Weideman 2014, Theorem 5.1).
//
// For that bound: A^z B^(1-z) - 1 - … = B·F(r) with r = A/B and the remainder F(r) = r^z - 1 - z
// (r-1) = z (z-1) (r-1)² ∫₀¹ (1-θ) (1+θ(r-1))^(z-2) dθ of Taylor's formula, in which the argument
// of 1+θ(r-1) is never further from 0 than that of r. While |y| max|mean|/σ < π/2 all components of
// A and of B have arguments in (-π/2, π/2), so neither has a zero.

var _ Transformer = Mixtures{}

const (
	// cutoff is the distance of the sums, in standard deviations, from the centres of the Gaussians
	// that bound F: φ(10)/φ(0) = 2e-22.
	cutoff = 10

	// accuracy is minus the logarithm of the error of a sum relative to M - 1 on the real line.
	accuracy = 37.0

	maxNodes = 1 << 17
)

// shift returns the distance of the means in σ. ok is false unless P and Q are single Gaussians.
func (m Mixtures) shift() (distance float64, ok bool) {
	if len(m.P) != 1 || len(m.Q) != 1 {
		return 0, false
	}
	return (m.P[0].Mean - m.Q[0].Mean) / m.Sigma, true
}

// Extent returns the largest mean of P, at least 0, and the smallest mean of Q, at most 0.
func (m Mixtures) Extent() (most, least float64) {
	for _, c := range m.P {
		most = max(most, c.Mean)
	}
	for _, c := range m.Q {
		least = min(least, c.Mean)
	}
	return most, least
}

// interval returns the range of t, the variable of integration in units of σ, beyond which the
// integrand F of the transform M is negligible at every s with real part c. A^z is at most the
// largest of the components' z-th powers, Gaussians around z·mean/σ, and B^(1-z) grows no faster
// than with the component furthest out. Where A and B are close to 1, F is as the squares of their
// differences from it.
func (m Mixtures) interval(c float64) (from, to float64) {
	most, least := m.Extent()
	return 2*least/m.Sigma - cutoff, (max(2, 1+c)*most-c*least)/m.Sigma + cutoff
}

// strip returns the largest half-width b of the strip to try: below πσ/(2 max|mean|), and
// at most 9, beyond which e^(b²/2) outweighs the gain.
func (m Mixtures) strip() float64 {
	most, least := m.Extent()
	return min(0.95*math.Pi/2*m.Sigma/max(most, -least), 9)
}

// Cumulant returns the function that returns K and its derivatives, from a table that grows with c.
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

// shiftLine returns the line of a pair of single Gaussians at distance √variance: M(s) =
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

// Line returns the transform M by sums whose step serves every |Im s| < step·count.
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
		// 2πb/h = log(2I/error), the error e^-accuracy of M - 1 = expm1(K)
		wide := 2 * math.Pi * width / max(math.Ln2+log-numeric.LogExpm1(k)+accuracy, 1)
		if wide > h {
			b, h, logI = width, wide, log
		} else if h > 0 {
			break
		}
	}
	nodes, scale := valuesAt(c, m.grid(from, to, h))
	s := newLineSum(nodes, scale, c, step, count)
	s.quadrature = math.Exp(math.Ln2 + logI - scale - numeric.LogExpm1(2*math.Pi*b/h))
	return s.line()
}
