package pair

import "math"

// sum is the law of a sum of independent numbers that are at least 0, or a bound of it in the
// convex order: chance[i] at value[i], ascending.
type sum struct {
	value, chance []float64
	beyond        float64 // the part of its expectation that lies at +Inf, where the chance is 0
	rounding      float64 // bound of the relative errors of chances and values
}

// side says in which direction of the convex order a law may err. A sum of independent numbers is
// ordered as the numbers are, so bounds of one summand carry over to sums (Shaked, Shanthikumar
// 2007, "Stochastic Orders", Theorem 3.A.12).
type side bool

const (
	wider    side = true  // no convex function has a smaller expectation than under the true law
	narrower side = false // none has a larger one
)

// cells holds the chance of the values from one edge to the next, and their part of the
// expectation. The last cell has no upper end.
type cells struct{ edges, chance, moment []float64 }

func newCells(edges []float64) cells {
	return cells{edges, make([]float64, len(edges)), make([]float64, len(edges))}
}

// law puts each cell's chance on few values and keeps its expectation. The wider law splits it
// between the two ends of the cell, the narrower one puts all of it at its mean: spreading numbers
// around their mean is wider, and merging them into their mean is narrower, by Jensen's inequality.
// Of the last cell the wider law leaves the chance at the edge and moves the rest of the
// expectation to +Inf.
func (c cells) law(which side) sum {
	var out sum
	last := len(c.edges) - 1
	put := func(value, chance float64) {
		if n := len(out.value); n > 0 && out.value[n-1] == value {
			out.chance[n-1] += chance
		} else if chance > 0 {
			out.value, out.chance = append(out.value, value), append(out.chance, chance)
		}
	}
	for i, p := range c.chance {
		switch above := c.moment[i] - p*c.edges[i]; {
		case p == 0:
		case which == narrower:
			put(c.moment[i]/p, p)
		case i == last:
			put(c.edges[i], p)
			out.beyond += max(0, above)
		default:
			right := min(max(above/(c.edges[i+1]-c.edges[i]), 0), p)
			put(c.edges[i], p-right)
			put(c.edges[i+1], right)
		}
	}
	return out
}

// plus returns the cells of a + b. If twice, b is a again, and every two values meet once only.
func (a sum) plus(b sum, twice bool, edges []float64) cells {
	c := newCells(edges)
	upperEnd := func(cell int) float64 {
		if cell+1 < len(edges) {
			return edges[cell+1]
		}
		return math.Inf(1)
	}
	first := 0 // the cell of the least sum with value i
	for i, x := range a.value {
		values, chances, p := b.value, b.chance, a.chance[i]
		if twice {
			values, chances, p = values[i:], chances[i:], 2*p
		}
		for x+values[0] >= upperEnd(first) {
			first++
		}
		cell, end := first, upperEnd(first)
		var chance, moment float64 // of the cell, divided by p
		if twice {
			chance, moment = -chances[0]/2, -chances[0]/2*(x+x)
		}
		for j, y := range values[:len(chances)] {
			v := x + y
			if v >= end {
				c.chance[cell] += p * chance
				c.moment[cell] += p * moment
				chance, moment = 0, 0
				for v >= end {
					cell++
					end = upperEnd(cell)
				}
			}
			chance += chances[j]
			moment += chances[j] * v
		}
		c.chance[cell] += p * chance
		c.moment[cell] += p * moment
	}
	return c
}

// quantile returns the least value up to which the law has at least this chance.
func (a sum) quantile(chance float64) float64 {
	below := 0.0
	for i, p := range a.chance {
		if below += p; below >= chance {
			return a.value[i]
		}
	}
	return a.value[len(a.value)-1]
}

// spread returns half the distance of the quantiles that lie one standard deviation from the middle
// of a normal law.
func (a sum) spread() float64 { return (a.quantile(0.84) - a.quantile(0.16)) / 2 }

// logNormals makes laws of sums of independent numbers e^(s·n - s²/2), with n standard normal.
type logNormals struct {
	s     float64
	width float64 // of the cells, in standard deviations
	side  side
}

const (
	// farthest is how many standard deviations from the middle cells begin and end: beyond, a
	// normal number has a chance of 8e-24.
	farthest = 10

	// near is the distance from the middle, in standard deviations, from which on cells widen.
	near = 7
)

// wideness returns how many times as wide as in the middle a cell is at a distance from it, both in
// standard deviations.
func wideness(distance float64) float64 { return math.Pow(max(1, distance/near), 3) }

// one returns the law of one of the numbers. Its expectation is 1, and the part from a to b of it
// is the chance that n + s lies there, if a and b stand for values of n.
func (l logNormals) one() sum {
	ends := []float64{math.Inf(-1)} // of cells, as values of n
	for u := -float64(farthest); u < farthest+l.s; u += l.width * wideness(min(math.Abs(u), math.Abs(u-l.s))) {
		ends = append(ends, u)
	}
	edges := make([]float64, len(ends))
	for i, u := range ends {
		edges[i] = math.Exp(l.s*u - l.s*l.s/2)
	}
	c := newCells(edges)
	for i, from := range ends {
		to := math.Inf(1)
		if i+1 < len(ends) {
			to = ends[i+1]
		}
		c.chance[i], c.moment[i] = normalBetween(from, to), normalBetween(from-l.s, to-l.s)
	}
	law := c.law(l.side)
	law.rounding = 0x1p-40 // erfc keeps 50 bits, of which differences of neighbours lose few
	return law
}

// normalBetween returns the chance of a standard normal number between a and b.
func normalBetween(a, b float64) float64 {
	if a > 0 {
		a, b = -b, -a
	}
	return (math.Erfc(-b/math.Sqrt2) - math.Erfc(-a/math.Sqrt2)) / 2
}

// of returns the law of the sum of n numbers, by doubling and by adding one where n has a bit. One
// number beside m others may have cells √m times as wide: it has a part of 1/m in their variance,
// and in the chance that one of them is large.
func (l logNormals) of(n, bits int) sum {
	total := l.one()
	for bit := bits - 2; bit >= 0; bit-- {
		total = l.add(total, total, true)
		if m := n >> bit; m&1 == 1 {
			wide := logNormals{l.s, min(l.width*math.Sqrt(float64(m-1)), 0.25), l.side}
			total = l.add(total, wide.one(), false)
		}
	}
	return total
}

// add returns the law of a + b, for two sums of the numbers. Rounding: a chance is a sum of products
// of chances, in which no path has more than one addition for each value of a and of b.
func (l logNormals) add(a, b sum, twice bool) sum {
	edges := l.edges(a.value[0]+b.value[0], a.quantile(1e-22)+b.quantile(1e-22),
		a.quantile(0.5)+b.quantile(0.5), math.Hypot(a.spread(), b.spread()))
	law := a.plus(b, twice, edges).law(l.side)
	law.beyond += a.beyond + b.beyond
	law.rounding = a.rounding + b.rounding + float64(len(a.value)+len(b.value)+16)*ulp
	return law
}

// edges returns the ends of the cells of a sum: its least value, then from low on cells that are as
// wide as the law around them asks for. Next to its centre that is a part of its spread. Further up
// one large number governs the sum, and the logarithm of that has the standard deviation s.
func (l logNormals) edges(least, low, centre, spread float64) []float64 {
	edges := []float64{least}
	top := centre + max(math.Exp(l.s*farthest+l.s*l.s/2), farthest*spread)
	x := max(low, math.Nextafter(least, math.Inf(1)))
	for x < top {
		edges = append(edges, x)
		distance := math.Abs(x-centre) / spread
		deviation := max(1, l.s/2*(distance-near)) // in units of the spread
		large := math.Log(x-centre)/l.s - l.s/2    // of one number, under P; NaN below the centre
		if !(large > near && l.s*(distance-near) > 1) {
			large = distance / deviation
		}
		w := l.width * min(spread*deviation*wideness(large), l.s*x*wideness(large))
		x = max(x+w, math.Nextafter(x, math.Inf(1)))
	}
	return append(edges, x)
}
