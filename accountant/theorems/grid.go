package theorems

import (
	"math"

	"dpsgd/accountant/internal/numeric"
)

// grid moves losses to multiples of step. An atom between two multiples is spread
// over both so that its probability under either dataset is kept: an atom of
// mass m at x becomes masses u at the upper and m-u at the lower point with
//
//	u e^-upper + (m-u) e^-lower = m e^-x.
//
// Forgetting which of the two it was gives the atom back, so the spread outcome
// tells the datasets apart at least as well: the answer is an upper bound. (This is the
// "connect the dots" discretisation of Doroshenko et al. 2022, arXiv:2207.04380.)
// Every spread adds at most one step to the loss.
type grid struct {
	step float64
	snap float64 // an atom within snap steps of a multiple is put on it
}

// cell is a probability, its mass, at the loss index·step.
type cell struct {
	index int
	mass  float64
}

// spread appends the one or two cells of an atom to cells.
func (g grid) spread(cells []cell, a atom) []cell {
	nearest := math.Round(a.loss / g.step)
	if math.Abs(a.loss/g.step-nearest) <= g.snap {
		return append(cells, cell{int(nearest), a.mass})
	}
	lower := math.Floor(a.loss / g.step)
	rise := math.FMA(-lower, g.step, a.loss) // above the lower point
	share := math.Expm1(-rise) / math.Expm1(-g.step)
	share = math.Max(0, math.Min(1, share))
	return append(cells, cell{int(lower), a.mass * (1 - share)}, cell{int(lower) + 1, a.mass * share})
}

// losses returns the distribution of the sum of one loss of each table, on the grid. Ends of less
// than 1e-14·pure are cut off and join infinite, the probability of an infinite loss.
func (g grid) losses(tables [][]atom, pure, infinite, slop float64) *losses {
	cut := pure * 1e-14 / float64(2*len(tables))
	first, masses := 0, []float64{1}
	for _, t := range tables {
		cells := make([]cell, 0, 2*len(t))
		for _, a := range t {
			cells = g.spread(cells, a)
		}
		first, masses = convolve(first, masses, cells)
		var lost float64
		first, masses, lost = trim(first, masses, cut)
		infinite += lost
	}
	atoms := make([]atom, 0, len(masses))
	for i, m := range masses {
		if m > 0 {
			atoms = append(atoms, atom{float64(first+i) * g.step, m})
		}
	}
	return newLosses([]atom{{0, 1}}, atoms, infinite, slop+numeric.Ulp*float64(multiplications(tables)))
}

// convolve returns the distribution of the sum of two independent losses, its first index and its
// masses. One has the masses at first, first+1, …; the other the cells, those of ascending atoms.
func convolve(first int, masses []float64, cells []cell) (int, []float64) {
	low, high := cells[0].index, cells[len(cells)-1].index
	out := make([]float64, len(masses)+high-low)
	for _, c := range cells {
		to := out[c.index-low:]
		for i, m := range masses {
			to[i] += m * c.mass
		}
	}
	return first + low, out
}

// trim returns first and masses without both ends, each of at most cut, and the sum of these ends.
func trim(first int, masses []float64, cut float64) (int, []float64, float64) {
	lost, below := 0.0, 0.0
	for len(masses) > 1 && below+masses[0] <= cut {
		below += masses[0]
		first, masses = first+1, masses[1:]
	}
	for last := len(masses) - 1; last > 0 && lost+masses[last] <= cut; last-- {
		lost += masses[last]
		masses = masses[:last]
	}
	return first, masses, lost + below
}

// multiplications returns how many products one cell enters while the tables are convolved.
func multiplications(tables [][]atom) int {
	n := 0
	for _, t := range tables {
		n += 2 * len(t)
	}
	return n
}

// commonUnit returns a number of which all epsilons are multiples, to a relative
// 1e-12, by Euclid's algorithm, or false if it finds none. The number is the smallest such
// that no multiple is below its epsilon: the guarantees are rounded up.
func commonUnit(groups []group) (unit float64, ok bool) {
	largest := groups[len(groups)-1].epsilon
	unit = largest
	for _, g := range groups {
		a, b := unit, g.epsilon
		for b > 1e-9*largest {
			r := math.Mod(a, b)
			if b-r < 1e-9*largest {
				r = 0
			}
			a, b = b, r
		}
		unit = a
	}
	rough, unit := unit, 0.0
	for _, g := range groups {
		n := math.Round(g.epsilon / rough)
		if n < 1 || n > 1<<40 {
			return 0, false
		}
		unit = math.Max(unit, g.epsilon/n)
	}
	for _, g := range groups {
		if math.Abs(math.Round(g.epsilon/unit)*unit/g.epsilon-1) > 1e-12 {
			return 0, false
		}
	}
	return unit, true
}
