package rdp

import (
	"math"
	"sync"
	"sync/atomic"

	"dpsgd/accountant"
)

// relativeError bounds the relative error of a computed divergence. Against values of 50 digits the
// largest error was 6e-15 on 245 random Poisson-sampled Gaussians (q from 1e-7 to 1, σ from 0.08 to
// 90, α from 1.02 to 300), 1.2e-13 on 500 events of other kinds and the project's reference rows.
// Curves are rounded up by the bound, so that a computed epsilon is not below the true value of its
// formula.
const relativeError = 1e-12

// curve is the divergence of one event at the orders of one accountant, each
// computed when first asked for.
type curve struct {
	orders     []float64
	divergence divergence
	theorem    string
	bits       []atomic.Uint64 // of the values; 0 means not yet computed
}

// at returns the divergence at orders[i], rounded up and above 0. Two goroutines may
// compute it at the same time; they store the same number.
func (c *curve) at(i int) float64 {
	if bits := c.bits[i].Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	d := c.divergence.above(c.orders[i])
	c.bits[i].Store(math.Float64bits(d))
	return d
}

// weightedCurve is the curve of a ledger entry's event, with the entry's count.
type weightedCurve struct {
	*curve
	count float64
}

// sumOfCurves is the divergence of a ledger at each order: the sum over its entries.
type sumOfCurves []weightedCurve

// at returns Σ count × divergence at orders[i]: NaN if a divergence is NaN or below 0.
func (s sumOfCurves) at(i int) float64 {
	total := 0.0
	for _, c := range s {
		d := c.curve.at(i)
		if !(d >= 0) {
			return math.NaN()
		}
		total += c.count * d
	}
	return total
}

// maxCurves bounds the curves of a cache. A run has one event, a sweep a few; a calibration
// asks for some twenty, once each.
const maxCurves = 256

// curveCache holds the curves of the events seen, by event, under one relation and at
// one list of orders. It may be used by several goroutines.
type curveCache struct {
	relation accountant.Relation
	orders   []float64

	mu     sync.Mutex
	curves map[accountant.Event]*curve
}

// get returns the curve of an event as accountant.Simplify leaves it, and the theorem behind it.
// The curve is nil if e costs nothing.
func (cc *curveCache) get(e accountant.Event) (c *curve, theorem string, err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if c, ok := cc.curves[e]; ok {
		return c, c.theorem, nil
	}
	d, theorem, err := newDivergence(e, cc.relation, cc.orders)
	if err != nil || d == nil {
		return nil, theorem, err
	}
	if len(cc.curves) >= maxCurves {
		clear(cc.curves) // curves in use live on with their users
	}
	c = &curve{orders: cc.orders, divergence: d, theorem: theorem, bits: make([]atomic.Uint64, len(cc.orders))}
	cc.curves[e] = c
	return c, theorem, nil
}
