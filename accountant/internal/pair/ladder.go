package pair

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Ladder is a pair of distributions over many outcomes, told by their losses. See newLadder.
type Ladder struct {
	steps    atoms        // by their losses, ascending
	above    [][2]float64 // P and Q of the steps from the i-th on
	below    [][2]float64 // P and Q of the steps before the i-th
	infinite float64
}

var (
	_ Pair        = (*Ladder)(nil)
	_ Transformer = (*Ladder)(nil)
)

// newLadder returns the pair with these losses and their chances under P, in any order, and so much
// chance of an infinite loss. Q is e^-loss times P.
func newLadder(steps atoms, infinite float64) *Ladder {
	slices.SortFunc(steps, func(a, b atom) int { return cmp.Compare(a.loss, b.loss) })
	steps = slices.DeleteFunc(steps, func(s atom) bool { return s.p == 0 })
	n := len(steps)
	l := &Ladder{steps, make([][2]float64, n+1), make([][2]float64, n+1), infinite}
	q := func(s atom) float64 { return s.p * math.Exp(-s.loss) }
	for i, s := range steps {
		l.below[i+1] = [2]float64{l.below[i][0] + s.p, l.below[i][1] + q(s)}
	}
	if rest := 1 - l.below[n][1]; rest > 1e-9 { // outcomes that are impossible under P
		for i := range l.below {
			l.below[i][1] += rest
		}
	}
	l.above[n][0] = infinite
	for i := n - 1; i >= 0; i-- {
		s := steps[i]
		l.above[i] = [2]float64{l.above[i+1][0] + s.p, l.above[i+1][1] + q(s)}
	}
	return l
}

// after is the number of steps whose loss is at most loss.
func (l *Ladder) after(loss float64) int {
	return sort.Search(len(l.steps), func(i int) bool { return l.steps[i].loss > loss })
}

// Above returns P[L > l] and Q[L > l].
func (l *Ladder) Above(loss float64) (p, q float64) {
	tail := l.above[l.after(loss)]
	return tail[0], tail[1]
}

// Below returns P[L ≤ l] and Q[L ≤ l].
func (l *Ladder) Below(loss float64) (p, q float64) {
	tail := l.below[l.after(loss)]
	return tail[0], tail[1]
}

// Support returns the least and the greatest finite loss.
func (l *Ladder) Support() (least, greatest float64) {
	return l.steps[0].loss, l.steps[len(l.steps)-1].loss
}

// Infinite returns P[L = +Inf].
func (l *Ladder) Infinite() float64 { return l.infinite }

// Cumulant returns K and its derivatives.
func (l *Ladder) Cumulant() func(c float64) (k, k1, k2 float64) {
	return func(c float64) (k, k1, k2 float64) { return l.steps.cumulant(c, l.infinite) }
}

// Line adds up the steps.
func (l *Ladder) Line(c, step float64, count int) Line {
	return l.steps.line(c, step, count, l.infinite, 0)
}

// Tail returns log M(c): the losses are on a lattice, on which |M(c+iy)| comes back to it.
func (l *Ladder) Tail(c, _ float64) float64 {
	k, _, _ := l.steps.cumulant(c, l.infinite)
	return k
}

// Steps calls yield for the finite losses, with their chances under P.
func (l *Ladder) Steps(yield func(loss, p float64) bool) {
	for _, s := range l.steps {
		if !yield(s.loss, s.p) {
			return
		}
	}
}

// upward is the part of outcomes with a loss in [low, high] that goes to high when they are told
// apart as low and high, so that both sides keep their chances: 1/ratio is that of the two on
// average. Whoever sees the two and draws anew within sees the outcomes again, so that the two are
// the easier to tell apart ("connect the dots", Doroshenko et al. 2022, arXiv:2207.04380).
func upward(loss, low, high float64) float64 {
	return math.Expm1(low-loss) / math.Expm1(low-high)
}
