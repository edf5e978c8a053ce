package pair

import (
	"math"
	"slices"
)

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
