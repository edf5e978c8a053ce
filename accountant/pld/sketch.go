package pld

import (
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
	"dpsgd/accountant/internal/pair"
)

// sketch is a coarse picture of the losses: about a thousand atoms for each part. It
// is used to choose the tilt, the window and the grid. No bound depends on it.
type sketch struct{ parts []coarse }

// coarse is the sketch of one part: the loss lies in (edges[i], edges[i+1]] with
// probability mass[i], around loss[i].
type coarse struct {
	pair.Part
	count      float64
	greatest   float64 // the greatest finite loss, or +Inf
	edges      []float64
	mass, loss []float64
}

// newSketch sketches the parts for a question about this δ. It leaves out the tails that the bounds
// cut off: together a mass of tolerance·δ above, which is added to δ, and of tolerance below, which
// changes δ by that share.
func newSketch(parts []pair.Part, delta float64) *sketch {
	total := 0.0
	for _, p := range parts {
		total += float64(p.Count)
	}
	s := &sketch{}
	for _, p := range parts {
		s.parts = append(s.parts, newCoarse(p, tolerance/total, max(tolerance*delta/total, 1e-300)))
	}
	return s
}

// newSketchAt sketches the parts for the δ at ε, which it estimates. The first estimate can be
// far too large: losses that are much larger than ε, and rarer than δ, may govern the tilted
// loss. Each round cuts off more of them.
func newSketchAt(parts []pair.Part, epsilon float64) *sketch {
	s := newSketch(parts, 0)
	for last := math.Inf(1); ; {
		estimate := s.deltaAt(epsilon)
		if !(estimate <= last/2) { // also if it is NaN: nothing is left of a loss
			return s
		}
		s = newSketch(parts, estimate)
		last = estimate
	}
}

// deltaAt returns an estimate of δ(ε), at least 1e-290.
func (s *sketch) deltaAt(epsilon float64) float64 {
	theta := s.saddleAt(epsilon)
	mean, logDelta := s.saddlePoint(theta)
	return max(math.Exp(logDelta+theta*(mean-epsilon)), 1e-290)
}

func newCoarse(part pair.Part, belowMass, aboveMass float64) coarse {
	lo := lowest(part.Pair, belowMass)
	hi := highest(part.Pair, aboveMass)
	lo -= max((hi-lo)/64, 1e-6*math.Abs(lo), 0x1p-40) // an atom at the end lies within
	_, greatest := part.Pair.Support()
	c := coarse{Part: part, count: float64(part.Count), greatest: greatest, edges: coarseEdges(lo, hi)}
	t := tails(part.Pair, c.edges)
	for i := range len(c.edges) - 1 {
		p, q := between(t[i], t[i+1])
		loss := min(max(math.Log(p/q), c.edges[i]), c.edges[i+1])
		if math.IsNaN(loss) {
			loss = c.edges[i+1]
		}
		c.mass = append(c.mass, p)
		c.loss = append(c.loss, loss)
	}
	return c
}

// coarseEdges returns ends of cells over [lo, hi], ascending: evenly spaced ones and, for losses
// that crowd around 0, also some in geometric progression away from 0.
func coarseEdges(lo, hi float64) []float64 {
	const even, octaves, perOctave = 64, 45, 6
	edges := []float64{lo, hi}
	for i := range even {
		edges = append(edges, lo+(hi-lo)*float64(i)/even)
	}
	size := max(math.Abs(lo), math.Abs(hi))
	for j := range octaves * perOctave {
		x := size * math.Exp2(-float64(j)/perOctave)
		edges = append(edges, x, -x)
	}
	slices.Sort(edges)
	edges = slices.DeleteFunc(edges, func(x float64) bool { return x < lo || x > hi })
	return slices.Compact(edges)
}

// highest returns a loss that a finite loss exceeds with probability at most mass.
func highest(p pair.Pair, mass float64) float64 {
	_, greatest := p.Support()
	excess := func(l float64) bool {
		above, _ := p.Above(l)
		return above-p.Infinite() > mass
	}
	return edge(excess, greatest)
}

// lowest returns a loss such that smaller losses have probability at most mass.
func lowest(p pair.Pair, mass float64) float64 {
	least, _ := p.Support()
	excess := func(l float64) bool {
		below, _ := p.Below(-l)
		return below > mass
	}
	return -edge(excess, -least)
}

// edge returns, to 1 %, the least l from which on holds is false, at most limit. holds must not
// become true again.
func edge(holds func(l float64) bool, limit float64) float64 {
	const small = 0x1p-40
	if limit > 0 && holds(0) {
		lo, hi := 0.0, small
		for hi < limit && holds(hi) {
			lo, hi = hi, 2*hi
		}
		_, hi = numeric.Bisect(holds, lo, min(hi, limit), 0, 0.01)
		return hi
	}
	lo, hi := -small, 0.0
	for !holds(lo) && lo > -1e300 {
		lo, hi = 2*lo, lo
	}
	_, hi = numeric.Bisect(holds, lo, hi, 0, 0.01)
	return min(hi, limit)
}

// cumulant returns K(θ) = log E[e^(θL)] of the composition and its first two
// derivatives: the logarithm of the tilted mass, the tilted mean and variance.
func (s *sketch) cumulant(theta float64) (k, mean, variance float64) {
	for _, c := range s.parts {
		ck, cm, cv := c.cumulant(theta)
		k += c.count * ck
		mean += c.count * cm
		variance += c.count * cv
	}
	return k, mean, variance
}

func (c coarse) cumulant(theta float64) (k, mean, variance float64) {
	most := math.Inf(-1)
	for i, l := range c.loss {
		if c.mass[i] > 0 {
			most = max(most, theta*l)
		}
	}
	var sum, first float64
	weights := make([]float64, len(c.loss))
	for i, l := range c.loss {
		if c.mass[i] > 0 { // the exponential of others may be infinite
			weights[i] = c.mass[i] * math.Exp(theta*l-most)
		}
		sum += weights[i]
		first += weights[i] * l
	}
	mean = first / sum
	for i, l := range c.loss {
		variance += weights[i] * (l - mean) * (l - mean)
	}
	return most + math.Log(sum), mean, variance / sum
}

// saddleAt returns the tilt θ ≥ 0 that moves the mean of the composed loss to ε, or
// near to it if ε is not below the greatest loss.
func (s *sketch) saddleAt(epsilon float64) float64 {
	return firstAbove(func(theta float64) bool {
		k, mean, _ := s.cumulant(theta)
		return mean >= epsilon || k-theta*epsilon < -690 // δ < 1e-300
	})
}

// firstAbove returns about the least θ ≥ 0 at which an increasing condition holds.
func firstAbove(holds func(theta float64) bool) float64 {
	if holds(0) {
		return 0
	}
	lo, hi := 0.0, 1.0
	for !holds(hi) && hi < 1e12 {
		lo, hi = hi, 2*hi
	}
	_, hi = numeric.Bisect(func(theta float64) bool { return !holds(theta) }, lo, hi, 0, 0.001)
	return hi
}

// saddlePoint returns the mean ε of the composed loss under the tilt θ and an approximation of log
// δ(ε), from e^(K-θε) times the integral of (1 - e^-x) e^(-θx) over the density of N(0, v) at x >
// 0, v being the variance: v^(1/2)/√(2π) for small θ and v, and 1/(θ (θ+1) √(2πv)) for large ones.
func (s *sketch) saddlePoint(theta float64) (epsilon, logDelta float64) {
	k, epsilon, variance := s.cumulant(theta)
	deviation := max(math.Sqrt(variance), 1e-200)
	integral := 1 / (math.Sqrt(2*math.Pi) * deviation * (theta + 0.8/deviation) * (theta + 1 + 1.25/deviation))
	return epsilon, k - theta*epsilon + math.Log(integral)
}
