package pair

import (
	"math"
	"math/bits"
	"sync"
)

// Bounded is a pair of which two bounds are known. Its own methods describe a pair that dominates it.
type Bounded interface {
	Pair

	// Dominated returns a pair that the true one dominates.
	Dominated() Pair

	// Rounding bounds the relative error of the tails of both.
	Rounding() float64
}

// Dominated returns a pair that p dominates, p itself unless it is [Bounded].
func Dominated(p Pair) Pair {
	if b, ok := p.(Bounded); ok {
		return b.Dominated()
	}
	return p
}

// Rounding returns the Rounding of a [Bounded] pair, and 0 for other ones.
func Rounding(p Pair) float64 {
	if b, ok := p.(Bounded); ok {
		return b.Rounding()
	}
	return 0
}

// between is the Bounded of two pairs.
type between struct {
	Pair
	dominated Pair
	rounding  float64
}

func (b between) Dominated() Pair   { return b.dominated }
func (b between) Rounding() float64 { return b.rounding }

// Limits of what [BallsInBins] computes with.
const (
	maxBins      = 1 << 20
	maxBinsSigma = 1e4
	minBinsSigma = 0.05
)

// BallsInBins returns bounds of the pairs of one epoch of Gaussian releases, in each of which a
// record takes part in exactly one of the bins, chosen uniformly and kept secret. removed is for
// the direction in which D has the record, added for the other one. With e_k the unit vectors,
//
//	P = (1/bins) Σ_k N(e_k, σ²I),   Q = N(0, σ²I)
//
// (Chua et al. 2024, arXiv:2412.16802; Feldman, Shenfeld 2025, arXiv:2502.08202v4). It dominates
// the releases also where what a record contributes depends on earlier ones: if its contribution in
// bin k is v with |v| = r ≤ 1, the release is the sum of the others plus v/r·(r·x_k + √(1-r²)·z) and
// noise orthogonal to v, z ~ N(0, σ²), a function of x_k, of the past and of fresh noise, where x is
// the outcome of this pair. The other records' bins are independent of this one's.
//
// The likelihood ratio is the mean S of bins numbers e^((x_k-1/2)/σ²), which under Q are independent
// log-normal with expectation 1. In both directions δ(ε) is the expectation of a convex function of
// it: E_Q[(S - e^ε)₊], and E_Q[(1 - e^ε S)₊]. So laws of S that are wider or narrower in the convex
// order bound both of them, and make pairs themselves, as their expectation is 1; see cells. Bounds
// of ε at a δ from them differ by less than 0.1 % in most cases.
//
// Bins are at least 2. Sigma above 1e4 and bins above 2^20 count as these; below 0.05 the bounds
// are no amplification at all and nothing.
func BallsInBins(bins int, sigma float64) (removed, added Bounded) {
	if sigma < minBinsSigma {
		all := between{Gaussian(sigma), ApproxDP(0, 0), 0}
		return all, all
	}
	e := epoch{min(bins, maxBins), min(sigma, maxBinsSigma)}
	lastEpoch.Lock()
	defer lastEpoch.Unlock()
	if lastEpoch.epoch != e {
		lastEpoch.epoch = e
		lastEpoch.removed, lastEpoch.added = e.pairs()
	}
	return lastEpoch.removed, lastEpoch.added
}

// lastEpoch keeps the pairs of the last epoch asked for: most questions about one are followed by
// another.
var lastEpoch struct {
	sync.Mutex
	epoch
	removed, added Bounded
}

type epoch struct {
	bins  int
	sigma float64
}

// discretisation is the square root of the sum over all additions of the squared widths of their
// cells, in standard deviations. Each addition moves the variance by about a sixth of its square in
// the wider law, and by a twelfth in the narrower one.
const discretisation = 0.038

func (e epoch) pairs() (removed, added Bounded) {
	length := bits.Len(uint(e.bins))
	additions := length + bits.OnesCount(uint(e.bins)) - 2
	l := logNormals{s: 1 / e.sigma, width: discretisation / math.Sqrt(float64(additions)), side: wider}
	var low sum
	done := make(chan struct{})
	go func() {
		defer close(done)
		low = logNormals{l.s, l.width, narrower}.of(e.bins, length)
	}()
	high := l.of(e.bins, length)
	<-done
	rounding := max(high.rounding, low.rounding)
	n := float64(e.bins)
	removed = between{high.removed(n, rounding), low.removed(n, -rounding), rounding}
	added = between{high.added(n, rounding), low.added(n, -rounding), rounding}
	return removed, added
}

// removed returns the pair under which the likelihood ratio P/Q has this law under Q, divided by n.
// Every loss is raised by raise: rounding moves no value by more.
func (a sum) removed(n, raise float64) *Ladder {
	var steps []step
	impossible := 0.0
	for i, x := range a.value {
		if q := a.chance[i]; x > 0 {
			steps = append(steps, step{atom{q * (x / n), math.Log(x/n) + raise}, q * math.Exp(-raise)})
		} else {
			impossible += q
		}
	}
	return ladderOf(steps, a.beyond/n, impossible)
}

// added returns the pair of [sum.removed] with P and Q exchanged.
func (a sum) added(n, raise float64) *Ladder {
	var steps []step
	infinite := 0.0
	for i, x := range a.value {
		if p := a.chance[i]; x > 0 {
			steps = append(steps, step{atom{p, raise - math.Log(x/n)}, p * (x / n) * math.Exp(-raise)})
		} else {
			infinite += p
		}
	}
	return ladderOf(steps, infinite, a.beyond/n)
}
