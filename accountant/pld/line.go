package pld

import (
	"math"
	"math/cmplx"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

const (
	// precision is the negative logarithm of the relative error that each of the
	// truncations aims for.
	precision = 34.0

	// maxPoints bounds the points on one line.
	maxPoints = 1 << 15
)

// line holds the integrand on Re s = c at Im s = 0, h, 2h, …, divided by e^top and without the
// factor e^(-sε). So it serves every ε.
type line struct {
	c, h, top float64
	epsilon   float64 // for which step and reach were chosen
	logDelta  float64 // about log δ there, by the saddle-point expansion
	terms     []complex128
	errors    []float64 // of the terms, absolute
	tail      float64   // bound for the sum of the terms left out, divided by e^top
	cumulants []point   // at places to the right of c
}

// point is K and its second derivative at c.
type point struct{ c, k, k2 float64 }

// curvature returns the second derivative of the exponent of the integrand.
func (p point) curvature() float64 { return p.k2 + 1/(p.c*p.c) + 1/(1+p.c)/(1+p.c) }

// line chooses c, step and reach for ε, given the saddle point, and computes the terms. They may
// cancel by as many nats as cancellation says.
//
// To the right of the saddle point K can rise so steeply (where single releases start to
// dominate) that the aliases call for tiny steps. Some way to the left of it the terms
// cancel by a few digits, and steps can be much larger.
func (p *problem) line(saddle, epsilon, cancellation float64) (*line, error) {
	points := p.cumulantsAround(saddle)
	height := func(at point) float64 { return at.k - at.c*epsilon - math.Log(at.c) - math.Log1p(at.c) }
	lowest := math.Inf(1)
	for _, at := range points {
		lowest = min(lowest, height(at))
	}
	var l *line
	var k2 float64
	for i, at := range points {
		if height(at) > lowest+cancellation {
			continue
		}
		next := &line{c: at.c, top: at.k - math.Log(at.c) - math.Log1p(at.c), epsilon: epsilon, cumulants: points[i+1:]}
		next.logDelta = lowest - math.Log(2*math.Pi*at.curvature())/2
		if next.h = next.step(); l == nil || next.h > l.h {
			l, k2 = next, at.k2
		}
	}
	if l == nil || !(l.h > 0) {
		return nil, errSlow
	}
	// A first guess of the reach from the curvature: Gaussian decay.
	return l, p.extend(l, 1.35*math.Sqrt(2*(precision+4)/(k2+1/(l.c*l.c))))
}

// cumulantsAround returns K at points from half to five times the saddle point, ascending, as far
// as K is finite.
func (p *problem) cumulantsAround(saddle float64) []point {
	var points []point
	for _, factor := range [...]float64{0.5, 0.65, 0.8, 0.9, 1, 1.03, 1.1, 1.25, 1.5, 2, 3, 5} {
		at := point{c: saddle * factor}
		at.k, _, at.k2 = p.cumulant(at.c)
		if math.IsNaN(at.k) || math.IsInf(at.k, 0) {
			break
		}
		points = append(points, at)
	}
	return points
}

// extend sets how far line l goes, at least to Im s = reach, so that what is left out is
// negligible, and computes its terms. It returns errSlow if that takes maxPoints.
func (p *problem) extend(l *line, reach float64) error {
	for ; reach/l.h < maxPoints; reach *= 1.4 {
		l.tail = p.tail(l.c, reach, l.top, l.h)
		if math.Log(l.tail) < l.logDelta+l.c*l.epsilon-l.top-precision {
			return l.fill(p.parts, int(math.Ceil(reach/l.h)))
		}
	}
	return errSlow
}

// step returns the largest step for which the aliases of δ add up to at most e^-precision of it.
//
// For k < 0: e^(2πkc/h) δ(…) ≤ e^(-2π|k|c/h). For k > 0, by Chernoff's bound at c₂ > c:
// e^(2πkc/h) δ(ε+2πk/h) ≤ κ(c₂) e^(K(c₂)-c₂ε) e^(-2πk(c₂-c)/h).
func (l *line) step() float64 {
	h := 2 * math.Pi * l.c / (precision + 1 - min(l.logDelta, 0))
	best := 0.0
	for _, other := range l.cumulants {
		needed := other.k - other.c*l.epsilon + logKappa(other.c) - l.logDelta + precision + 1
		best = max(best, 2*math.Pi*(other.c-l.c)/max(needed, 1))
	}
	return min(h, best)
}

// logKappa returns the logarithm of max_x (1-e^(-x)) e^(-cx), attained where e^(-x) = c/(1+c):
// δ(ε) ≤ κ(c) e^(K(c)-cε).
func logKappa(c float64) float64 { return -math.Log1p(c) - c*math.Log1p(1/c) }

// aliases bounds by how much the infinite sum is above δ(ε), divided by e^(top-cε).
func (l *line) aliases(epsilon float64) float64 {
	one := l.c*epsilon - l.top // log of 1 over e^(top-cε)
	below := 2 * math.Pi * l.c / l.h
	above := math.Inf(1)
	for _, other := range l.cumulants {
		ratio := 2 * math.Pi * (other.c - l.c) / l.h
		above = min(above, other.k-other.c*epsilon+logKappa(other.c)-numeric.LogExpm1(ratio))
	}
	return math.Exp(one-numeric.LogExpm1(below)) + math.Exp(one+above)
}

// tail bounds (h/π) Σ |terms| at Im s ≥ reach, divided by e^top: the sum of 1/|s(s+1)| is at
// most 1/h times the integral of 1/y² from reach on, and its first term.
func (p *problem) tail(c, reach, top, h float64) float64 {
	logM := 0.0
	for _, part := range p.parts {
		k, _, _ := part.cumulant(c)
		logM += part.count * min(part.Tail(c, reach), k+1e-9)
	}
	return math.Exp(logM-top) / math.Pi * (1/reach + h/(reach*reach))
}

// fill computes the first count terms of the line and bounds of their errors.
func (l *line) fill(parts []part, count int) error {
	logs, errs := make([]complex128, count), make([]float64, count)
	for _, part := range parts {
		moments := part.Line(l.c, l.h, count)
		n := part.count
		for j := range count {
			logM, e := moments.Log(j)
			logs[j] += complex(n*real(logM), n*imag(logM))
			errs[j] += n * e
		}
	}
	l.terms, l.errors = make([]complex128, count), make([]float64, count)
	for j := range count {
		s := complex(l.c, float64(j)*l.h)
		log := logs[j] - cmplx.Log(s) - cmplx.Log(s+1) - complex(l.top, 0)
		size := math.Exp(real(log))
		// The logarithm itself is rounded, and so is its imaginary part of many turns.
		rounding := 8 * (1 + math.Abs(imag(log)) + math.Abs(l.top)) * (1.0 / (1 << 53))
		l.terms[j] = cmplx.Exp(log)
		l.errors[j] = size * math.Expm1(errs[j]+rounding)
		if !(l.errors[j] < math.Inf(1)) {
			return errSlow
		}
	}
	return nil
}

// delta returns log δ at ε and a bound for the relative error of δ.
func (l *line) delta(epsilon float64) (logDelta, relative float64) {
	sum, _ := l.sum(epsilon)
	if !(sum > 0) {
		return math.NaN(), math.Inf(1)
	}
	size := l.h / math.Pi * l.roundings()
	relative = (size + l.tail + l.aliases(epsilon)) / sum
	return math.Log(sum) + l.top - l.c*epsilon, relative
}

// roundings returns a bound of the sum of the rounding errors of the terms.
func (l *line) roundings() float64 {
	total := 0.0
	for j, e := range l.errors {
		y := float64(j) * l.h
		total += e + cmplx.Abs(l.terms[j])*(4+y*l.epsilon)*(1.0/(1<<53))
	}
	return total
}

// sum returns the trapezoid sum at ε, and minus its derivative in ε, both divided by e^(top-cε).
func (l *line) sum(epsilon float64) (sum, slope float64) {
	for j, term := range l.terms {
		y := float64(j) * l.h
		sin, cos := math.Sincos(y * epsilon)
		re := real(term)*cos + imag(term)*sin
		im := imag(term)*cos - real(term)*sin
		weight := 1.0
		if j == 0 {
			weight = 0.5
		}
		sum += weight * re
		slope += weight * (l.c*re - y*im)
	}
	return sum * l.h / math.Pi, slope * l.h / math.Pi
}

// solve returns an interval that holds the ε at which log δ is target: the root of the
// computed δ, moved to both sides by the relative error of δ, and checked there. relative,
// the relative error of δ at the root, is +Inf if there is no interval.
func (l *line) solve(target float64) (i accountant.Interval, root, relative float64) {
	root, slope := l.root(target)
	if !(slope > 0) {
		return accountant.Interval{}, math.NaN(), math.Inf(1)
	}
	at := max(root, 0)
	logDelta, relative := l.delta(at)
	if !(relative < bearable) {
		return accountant.Interval{}, root, math.Inf(1)
	}
	if root <= 0 && logDelta+relative <= target {
		return accountant.Interval{}, root, relative
	}
	i = accountant.Interval{Lower: at, Upper: at}
	first := relative*1.01/slope + 4e-16*at
	moved := func(passed func(step float64) bool) bool {
		for step := first; step < 1e6*first; step *= 2 {
			if passed(step) {
				return true
			}
		}
		return false
	}
	up := moved(func(step float64) bool { i.Upper = at + step; return l.atMost(i.Upper, target) })
	if !up || !moved(func(step float64) bool { i.Lower = max(at-step, 0); return i.Lower == 0 || l.atLeast(i.Lower, target) }) {
		return accountant.Interval{}, root, math.Inf(1)
	}
	return i, root, relative
}

func (l *line) atMost(epsilon, target float64) bool {
	logDelta, relative := l.delta(epsilon)
	return logDelta+math.Log1p(relative) <= target
}

func (l *line) atLeast(epsilon, target float64) bool {
	logDelta, relative := l.delta(epsilon)
	return relative < 1 && logDelta+math.Log1p(-relative) >= target
}

// root solves log δ = target for the computed δ by Newton's method within a bracket, and
// returns the slope -d log δ/dε there. Where δ is lost in its error it counts as below the
// target. The root of a target above δ(0) is below 0, and not sought further.
func (l *line) root(target float64) (epsilon, slope float64) {
	lo, hi := math.Inf(-1), math.Inf(1)
	noise := 4*(l.h/math.Pi*l.roundings()+l.tail) + 1e-15
	x := l.epsilon
	for range 100 {
		sum, derivative := l.sum(x)
		if !(sum > noise && derivative > 0) {
			if x <= 0 {
				return 0, math.NaN()
			}
			hi = x
			x = max(lo, 0) + (hi-max(lo, 0))/2
			continue
		}
		excess := math.Log(sum) + l.top - l.c*x - target
		if excess > 0 {
			lo = x
		} else {
			hi = x
		}
		slope = derivative / sum
		next := x + excess/slope
		if x <= 0 && excess <= 0 {
			return min(next, 0), slope
		}
		if next <= lo || next >= hi {
			next = max(lo, 0) + (min(hi, 2*x+1)-max(lo, 0))/2
		}
		if math.Abs(next-x) <= 1e-15*math.Abs(x) {
			return next, slope
		}
		if x = next; x < 0 {
			x = 0
		}
	}
	return x, slope
}
