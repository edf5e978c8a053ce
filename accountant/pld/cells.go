package pld

import (
	"math"

	"dpsgd/accountant/internal/pair"
)

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
			if !math.IsInf(end, 0) && math.Abs(l-end) <= 4*unit*(1+8*math.Abs(end)) {
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
