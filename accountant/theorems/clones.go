package theorems

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// clones is the privacy profile of the pair in Theorem III.2 of Feldman,
// McMillan, Talwar 2021 (arXiv:2012.12803): for n reports of local ε l, with
//
//	C ~ Bin(n-1, e^-l), A ~ Bin(C, 1/2), Δ ~ Bern(e^l/(e^l+1)),
//	P = (A+Δ, C-A+1-Δ),  Q = (A+1-Δ, C-A+Δ),
//
// everything that n shuffled reports say about one record is a function of P
// against Q. The two are mirror images, so that both directions cost the same.
type clones struct {
	local  float64
	lo, hi int       // the clone counts C looked at
	masses []float64 // their probabilities
	locals []float64 // the l in the law of Δ at each count; nil if it is local at all of them
	lost   float64   // bound of the probability of all other counts, added to δ
	slop   float64   // bound on the relative error of the terms of delta
}

// maxReports is the most reports that are counted: fewer clones tell more, so leaving reports out
// is on the private side.
const maxReports = 1 << 36

// newClones returns the pair for reports of this local ε, with count as the law of C. It leaves out
// both tails of count, each of probability at most cut, and adds 2·cut to every δ for them.
func newClones(local float64, count numeric.Binomial, cut float64) *clones {
	c := &clones{local: local, lost: 2 * cut}
	c.lo, c.hi = count.Window(cut)
	if c.lo == 0 && c.hi == count.N {
		c.lost = 0
	}
	c.masses = make([]float64, c.hi-c.lo+1)
	for i := range c.masses {
		c.masses[i] = math.Exp(count.LogMass(c.lo + i))
	}
	c.slop = 2*count.RelativeError() + 2*numeric.Binomial{N: c.hi}.RelativeError()
	return c
}

// at returns δ = Σ max(0, P - e^epsilon Q), rounded up, and -dδ/dε; both are 0 from c.local on.
//
// Given C = c, the first entry x of the outcome has P = w·b(x-1) + (1-w)·b(x) and Q = (1-w)·b(x-1)
// + w·b(x), with b the masses of Bin(c, 1/2) and w the mean of Δ. So P/Q grows with x, exceeds
// e^epsilon above a share of c+1, and the sum of P - e^epsilon Q from x on is
//
//	(w - e^epsilon (1-w)) b(x-1) - (e^epsilon - 1) Pr[Bin(c, 1/2) ≥ x].
func (c *clones) at(epsilon float64) (delta, rate float64) {
	if epsilon >= c.local {
		return 0, 0
	}
	y, loss := math.Exp(epsilon), math.Expm1(epsilon)
	cost := 0.0 // the sum of all terms without their signs
	var walk fairTail
	for i, mass := range c.masses {
		count, local := c.lo+i, c.localAt(i)
		if epsilon >= local {
			continue
		}
		wrong := 1 / (math.Exp(local) + 1) // 1-w
		gain := -math.Expm1(epsilon-local) / (1 + math.Exp(-local))
		share := -math.Expm1(-epsilon-local) / ((1 + math.Exp(-epsilon)) * -math.Expm1(-local))
		x := int(share*float64(count+1)) + 1
		if x > count+1 {
			continue // no outcome is that telling
		}
		walk.moveTo(count, x)
		delta += mass * (gain*walk.before - loss*walk.tail)
		cost += mass * (gain*walk.before + loss*walk.tail)
		rate += mass * y * (wrong*walk.before + walk.tail)
	}
	delta += c.slop*cost + c.lost
	return math.Min(1, math.Max(0, delta)), rate
}

func (c *clones) localAt(i int) float64 {
	if c.locals == nil {
		return c.local
	}
	return c.locals[i]
}

// fairTail walks over pairs (count, x), 1 ≤ x ≤ count+1, keeping the mass of Bin(count, 1/2) at x-1
// and its tail from x on up to date by Pascal's rule. It starts afresh after 4096 + √count steps,
// so that rounding does not pile up: a step costs about an ulp, a start about √count steps.
type fairTail struct {
	count, x     int
	before, tail float64
	left         int // steps until the next start
}

// moveTo moves to a pair: in one step if count is the next one and x stays or rises by 1.
func (t *fairTail) moveTo(count, x int) {
	t.left--
	if t.left < 0 || count != t.count+1 || x < t.x || x > t.x+1 {
		t.start(count, x)
		return
	}
	// One more coin, the same x: tail + before/2, and before by its formula.
	t.tail += t.before / 2
	t.before *= float64(count) / float64(2*(count-t.x+1))
	t.count = count
	if x > t.x {
		at := t.before * float64(count-t.x+1) / float64(t.x) // mass at the old x
		t.tail = math.Max(0, t.tail-at)
		t.before, t.x = at, x
	}
}

// start computes before and tail at a pair without using those at the last pair.
func (t *fairTail) start(count, x int) {
	b := numeric.Binomial{N: count, P: 0.5, Q: 0.5}
	t.count, t.x, t.left = count, x, 4096+int(math.Sqrt(float64(count)))
	t.before, t.tail = math.Exp(b.LogMass(x-1)), 0
	if x > count || t.before < 1e-290 {
		return // nothing beyond, or next to nothing, left out on the private side
	}
	sum, term := 0.0, t.before*float64(count-x+1)/float64(x)
	for i := x; i <= count; i++ {
		sum += term
		term *= float64(count-i) / float64(i+1)
		if term < negligible*sum {
			break
		}
	}
	t.tail = sum
}
