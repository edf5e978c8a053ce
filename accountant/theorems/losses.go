package theorems

import (
	"cmp"
	"math"
	"slices"

	"dpsgd/accountant/internal/numeric"
)

// atom is an outcome: its privacy loss and its probability.
type atom struct{ loss, mass float64 }

// losses is the distribution of the sum of two independent losses, outer and inner, which
// are kept as two lists, and of an outcome of infinite loss. δ takes time in proportion
// to the sum of the two lengths, not to their product.
type losses struct {
	outer    []atom // ascending
	inner    []atom // ascending
	mass     []float64
	excess   []float64
	infinite float64
	slop     float64 // bound on the relative error of delta
}

// newLosses computes the sums over the tails of inner: for every i, the mass of the atoms
// from i on, and their excess, Σ mass·(1 - exp(-(loss - lossᵢ))). Nothing cancels in them: a
// shift by g turns 1-e^-d into (1-e^-g) + e^-g (1-e^-d).
func newLosses(outer, inner []atom, infinite, slop float64) *losses {
	n := len(inner)
	l := &losses{outer: outer, inner: inner, mass: make([]float64, n+1), excess: make([]float64, n+1), infinite: infinite}
	l.slop = slop + 4*numeric.Ulp*float64(len(outer)+n+64)
	for i := n - 1; i >= 0; i-- {
		if i+1 < n {
			gap := inner[i].loss - inner[i+1].loss
			l.excess[i] = math.Exp(gap)*l.excess[i+1] - math.Expm1(gap)*l.mass[i+1]
		}
		l.mass[i] = l.mass[i+1] + inner[i].mass
	}
	return l
}

// at returns δ = E[max(0, 1 - exp(epsilon - L))], rounded up, and -dδ/dε, for the sum L of both.
func (l *losses) at(epsilon float64) (delta, rate float64) {
	i := len(l.inner)
	for _, a := range l.outer { // ascending: the inner loss needed falls
		for i > 0 && a.loss+l.inner[i-1].loss > epsilon {
			i--
		}
		if i == len(l.inner) {
			continue
		}
		beyond := a.loss + l.inner[i].loss - epsilon
		shrink := math.Exp(-beyond)
		delta += a.mass * (shrink*l.excess[i] - math.Expm1(-beyond)*l.mass[i])
		rate += a.mass * shrink * (l.mass[i] - l.excess[i])
	}
	return math.Min(1, delta*(1+l.slop)+l.infinite), rate
}

// maxAtoms bounds the atoms of each of the two lists that halves returns.
const maxAtoms = 1 << 20

// losses returns the distribution of the summed loss of a randomized response for each mechanism of
// q: exactly, as two halves or on multiples of a common unit, else spread over a grid.
func (q *question) losses() *losses {
	cut := q.pure * 1e-14 / float64(2*len(q.groups))
	infinite := 2 * cut * float64(len(q.groups)) // at most, whichever way
	tables := make([][]atom, len(q.groups))
	slop := 0.0
	for i, g := range q.groups {
		tables[i] = g.atoms(cut)
		slop += newResponses(g.epsilon, g.count).RelativeError()
	}
	if outer, inner, ok := halves(tables); ok {
		return newLosses(outer, inner, infinite, slop)
	}
	// By Hoeffding's inequality L is within reach of its mean but for the cut.
	reach := math.Sqrt(-2 * q.squares * numeric.Log(cut))
	width := 2 * math.Min(reach, q.epsilons)
	// Convolving the tables takes about 2^29 multiplications.
	cells := math.Max(1<<9, math.Min(1<<20, float64(1<<29)/float64(multiplications(tables))))
	if unit, ok := commonUnit(q.groups); ok && width/unit <= cells {
		for i, g := range q.groups {
			tables[i] = group{unit * math.Round(g.epsilon/unit), g.count}.atoms(cut)
		}
		return grid{step: unit, snap: 1e-6}.losses(tables, q.pure, infinite, slop)
	}
	return grid{step: width / cells}.losses(tables, q.pure, infinite, slop)
}

// atoms returns the distribution of the summed loss of g.count randomized responses at g.epsilon,
// ascending, without its two tails, each of probability at most cut.
func (g group) atoms(cut float64) []atom {
	b := newResponses(g.epsilon, g.count)
	lo, hi := b.Window(cut)
	atoms := make([]atom, 0, hi-lo+1)
	for j := lo; j <= hi; j++ {
		atoms = append(atoms, atom{float64(2*j-g.count) * g.epsilon, math.Exp(b.LogMass(j))})
	}
	return atoms
}

// halves divides the tables between two lists of about equal length, each with all sums
// of its tables. ok is false if one would exceed maxAtoms.
func halves(tables [][]atom) (outer, inner []atom, ok bool) {
	sizes := [2]int{1, 1}
	var sides [2][][]atom
	sorted := slices.SortedFunc(slices.Values(tables), func(a, b []atom) int { return cmp.Compare(len(b), len(a)) })
	for _, t := range sorted { // the largest first, to the side that is smaller
		s := 0
		if sizes[1] < sizes[0] {
			s = 1
		}
		if sizes[s] *= len(t); sizes[s] > maxAtoms {
			return nil, nil, false
		}
		sides[s] = append(sides[s], t)
	}
	return product(sides[0]), product(sides[1]), true
}

// product returns all sums of one atom of every table, ascending.
func product(tables [][]atom) []atom {
	all := []atom{{0, 1}}
	for _, t := range tables {
		next := make([]atom, 0, len(all)*len(t))
		for _, a := range all {
			for _, b := range t {
				next = append(next, atom{a.loss + b.loss, a.mass * b.mass})
			}
		}
		all = next
	}
	slices.SortFunc(all, func(a, b atom) int { return cmp.Compare(a.loss, b.loss) })
	return all
}
