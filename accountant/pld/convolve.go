package pld

import (
	"math"

	"dpsgd/accountant/internal/pair"

	"gonum.org/v1/gonum/dsp/fourier"
)

// factor is the law of one release and the number of such releases that are composed.
type factor struct {
	law      law
	count    int
	rounding float64 // bound of the relative errors of the tails that the law was made of
}

// convolver composes laws over one window.
type convolver struct {
	*plan
	fft   *fourier.FFT
	mass  []float64    // of one release, then of the composition
	term  []complex128 // transform of one release
	total []complex128 // product of the powers
}

func newConvolver(p *plan) *convolver {
	return &convolver{
		plan:  p,
		fft:   fourier.NewFFT(p.size),
		mass:  make([]float64, p.size),
		term:  make([]complex128, p.size/2+1),
		total: make([]complex128, p.size/2+1),
	}
}

// unit is the relative rounding error of one operation.
const unit = 0x1p-53

// compose returns the composition of the factors.
//
// Each law is tilted before the transform: mass·e^(θl - K(θ)), which centres the
// composed loss at the ε of interest, so that the rounding error of the transform, which
// is relative to the largest masses, is relative to those that make δ(ε). The tilted
// laws are wrapped around the window, transformed, raised to their counts and
// multiplied; the inverse is the composed law, wrapped around.
func (v *convolver) compose(factors []factor) *composed {
	for i := range v.total {
		v.total[i] = 1
	}
	c := &composed{theta: v.theta, interval: v.interval, first: v.first}
	var e slips
	var offset, infinite float64
	for _, f := range factors {
		count := float64(f.count)
		k := f.law.cumulant(v.theta, v.interval)
		c.logMass += count * k
		offset += count * f.law.offset
		infinite += count * math.Log1p(-f.law.infinite)
		reach := v.wrap(f.law, k)
		v.fft.Coefficients(v.term, v.mass)
		multiplyPower(v.total, v.term, f.count)
		e.add(v, f.law, count, k, reach)
		e.componentwise += count * f.rounding
	}
	c.infinite = -math.Expm1(infinite)
	v.fft.Sequence(v.mass, v.total)
	c.unwrap(v.mass, offset)
	c.most, c.norm = c.weights()
	e.conclude(v, c)
	return c
}

// unwrap sets c.mass from wrapped, where the mass of the loss (Σ index + offset)·interval is at Σ
// index modulo the size. True masses are at least 0: raising negative ones to 0 brings them nearer
// to the truth.
func (c *composed) unwrap(wrapped []float64, offset float64) {
	n := len(wrapped)
	whole := math.Floor(offset)
	c.offset = (offset - whole) * c.interval
	from := modulo(c.first-int(whole), n)
	c.mass = make([]float64, n)
	for i := range c.mass {
		c.mass[i] = max(0, wrapped[(from+i)%n]/float64(n))
	}
}

// slips adds up the bounds of the errors of a composition.
//
// Rounding is bounded in the 2-norm. A transform of n points has a relative error of at
// most 16 log₂(n) units (Higham 2002, Accuracy and Stability of Numerical Algorithms,
// Theorem 24.2, with room for inexact twiddle factors). An F with an error e has a power
// with the error count·e, as |F| ≤ 1. A product of N complex numbers has a relative
// error of √8 N units. The masses that go in have small relative errors of their own,
// and so have the powers and the weighted sums made of them, whose terms are positive.
type slips struct {
	releases      float64
	forward       float64 // of transforms and powers, in the 2-norm
	componentwise float64
	above, below  float64 // Chernoff: log E[e^(tS)] of the tilted composed loss S, t = above, -below
}

func (e *slips) add(v *convolver, w law, count, k, reach float64) {
	transform := v.transformError()
	growth := math.Exp(count * transform * math.Sqrt(float64(v.size))) // of |F| above 1
	e.releases += count
	e.forward += count*transform*norm(v.mass)*growth + 1e-21
	e.componentwise += count * (8 + 4*(reach+2*math.Abs(k))) * unit
	e.above += count * (w.cumulant(v.theta+v.above, v.interval) - k)
	e.below += count * (w.cumulant(v.theta-v.below, v.interval) - k)
}

func (v *convolver) transformError() float64 { return 16 * math.Log2(float64(v.size)) * unit }

func (e *slips) conclude(v *convolver, c *composed) {
	relative := 2*v.transformError() + 4*e.releases*unit
	top, bottom := c.loss(len(c.mass)-1), c.loss(0)
	exponents := math.Abs(c.logMass) + c.theta*max(math.Abs(top), math.Abs(bottom))
	c.rounding = (e.forward + relative*norm(c.mass)) * 1.01
	c.componentwise = e.componentwise + 8*(float64(len(c.mass))+exponents)*unit
	c.beyond = math.Exp(e.above-v.above*top) * 1.01
	c.wrapped = c.beyond + math.Exp(e.below+v.below*bottom)*1.01
}

// cumulant returns log E[e^(θL)] over the finite losses.
func (w law) cumulant(theta, interval float64) float64 {
	return logMoment(len(w.index), theta, func(i int) (mass, loss float64) { return w.mass[i], w.loss(w.index[i], interval) })
}

func (w law) loss(index int, interval float64) float64 { return (float64(index) + w.offset) * interval }

// wrap fills v.mass with the masses of w times e^(θl - k), l being their losses: index i at
// position i modulo the size. It returns the greatest |θl - k|.
func (v *convolver) wrap(w law, k float64) (reach float64) {
	clear(v.mass)
	for i, index := range w.index {
		exponent := v.theta*w.loss(index, v.interval) - k
		reach = max(reach, math.Abs(exponent))
		v.mass[modulo(index, v.size)] += w.mass[i] * math.Exp(exponent)
	}
	return reach
}

func modulo(a, n int) int {
	if a %= n; a < 0 {
		a += n
	}
	return a
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// multiplyPower multiplies each total[i] by term[i]^power. Powers below 1e-21 are taken for 0: all
// of them together change no mass by more than that.
func multiplyPower(total, term []complex128, power int) {
	negligible := math.Exp(-100 / float64(power))
	for i, f := range term {
		if total[i] == 0 {
			continue
		}
		if real(f)*real(f)+imag(f)*imag(f) < negligible {
			total[i] = 0
			continue
		}
		result := total[i]
		for n := power; ; f *= f {
			if n&1 == 1 {
				result *= f
			}
			if n >>= 1; n == 0 {
				break
			}
		}
		total[i] = result
	}
}

// tail holds the four tails of a pair at one loss l: the probabilities of L > l (above) and of L ≤
// l (below), each under P and under Q.
type tail struct{ aboveP, aboveQ, belowP, belowQ float64 }

// tails returns the tails of a pair at each of the losses. A loss that differs from an end of the
// pair's support by rounding alone is taken for that end, so that an atom there is met.
func tails(p pair.Pair, losses []float64) []tail {
	least, greatest := p.Support()
	ts := make([]tail, len(losses))
	for i, l := range losses {
		for _, end := range [2]float64{least, greatest} {
			if !math.IsInf(end, 0) && math.Abs(l-end) <= 32*unit*math.Abs(end) {
				l = end
			}
		}
		ts[i].aboveP, ts[i].aboveQ = p.Above(l)
		ts[i].belowP, ts[i].belowQ = p.Below(l)
	}
	return ts
}

// between returns P and Q of a loss above that of tail a and at most that of b. It subtracts the
// upper or the lower tails, whichever are smaller: these keep their digits far out.
func between(a, b tail) (p, q float64) {
	return difference(a.aboveP, b.aboveP, a.belowP, b.belowP), difference(a.aboveQ, b.aboveQ, a.belowQ, b.belowQ)
}

func difference(aboveA, aboveB, belowA, belowB float64) float64 {
	if belowB < aboveA {
		return max(0, belowB-belowA)
	}
	return max(0, aboveA-aboveB)
}

// For at most few releases all cells are equally wide, about fewCells of them: the sum of so few
// losses is not smooth, and the largest cell near ε decides the error.
const (
	few      = 16
	fewCells = 1 << 12
)

// widths returns, for each cell of sketch c, the number of grid intervals that a cell of the law
// may span there. Cells are wider than one interval where T, the tilted mass further out, is small:
// m intervals with m² ∝ T^-0.8, so that what all cells add to the variance of the loss stays of the
// order of one interval, squared. A pair needs about as many cells as its standard deviation has
// intervals, and a few more for its tails.
func (p *plan) widths(c coarse) []int {
	k, _, _ := c.cumulant(p.theta)
	n := len(c.mass)
	tilted := make([]float64, n)
	below := make([]float64, n) // tilted mass up to and including cell i
	sum := 0.0
	for i := range n {
		tilted[i] = c.mass[i] * math.Exp(p.theta*c.loss[i]-k)
		if c.mass[i] == 0 {
			tilted[i] = 0
		}
		sum += tilted[i]
		below[i] = sum
	}
	most := make([]int, n)
	limit := max(1, 0.5/((p.theta+1)*p.interval))
	if p.sketch.releases() <= few {
		limit = max(1, (c.edges[n]-c.edges[0])/p.interval/fewCells)
	}
	above := 0.0
	for i := n - 1; i >= 0; i-- {
		above += tilted[i]
		outside := max(min(above, below[i]), 1e-30)
		most[i] = int(min(max(0.2*math.Pow(outside, -0.4), 1), limit))
	}
	return most
}

// nodes returns the ends of the cells for part c, ascending, as multiples of the interval.
func (p *plan) nodes(c coarse) []int {
	at := func(l float64) int { return int(math.Floor(l / p.interval)) }
	w := p.widths(c)
	k, last := at(c.edges[0])-1, at(c.edges[len(c.edges)-1])+2
	nodes := []int{k}
	i := 0 // the cell of the sketch
	for k < last {
		for i+1 < len(w) && at(c.edges[i+1]) <= k {
			i++
		}
		step := w[i]
		for j := i + 1; j < len(w) && at(c.edges[j]) < k+step; j++ {
			if w[j] < step { // enter finer cells at their edge
				step = max(w[j], at(c.edges[j])-k)
			}
		}
		k += step
		nodes = append(nodes, k)
	}
	return nodes
}
