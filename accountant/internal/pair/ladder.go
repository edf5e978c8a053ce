package pair

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"dpsgd/accountant/internal/numeric"
)

// Ladder is a pair of distributions over finitely many outcomes, kept by their losses.
type Ladder struct {
	atoms    atoms        // in the order in which transforms add them up
	losses   []float64    // ascending
	above    [][2]float64 // P and Q of the losses from the i-th on
	below    [][2]float64 // P and Q of the losses before the i-th
	infinite float64
}

var _ Transformer = (*Ladder)(nil)

// step is an outcome that is possible under P and Q.
type step struct {
	atom
	q float64
}

// newLadder returns the pair with these finite losses and their chances under P, in any order, and
// with an infinite loss of chance infinite under P. Q of a finite loss is e^-loss times its P.
func newLadder(all atoms, infinite float64) *Ladder {
	slices.SortFunc(all, func(a, b atom) int { return cmp.Compare(a.loss, b.loss) })
	var steps []step
	sum := 0.0
	for _, a := range all {
		if a.p > 0 {
			steps = append(steps, step{a, a.p * math.Exp(-a.loss)})
			sum += a.p * math.Exp(-a.loss)
		}
	}
	impossible := 1 - sum
	if impossible <= 1e-9 { // rounding
		impossible = 0
	}
	return ladderOf(steps, infinite, impossible)
}

// ladderOf returns the pair with these outcomes. infinite is the chance under P of outcomes that
// are impossible under Q, impossible the chance under Q of outcomes that are impossible under P.
func ladderOf(steps []step, infinite, impossible float64) *Ladder {
	n := len(steps)
	l := &Ladder{make(atoms, n), make([]float64, n), make([][2]float64, n+1), make([][2]float64, n+1), infinite}
	for i, s := range steps {
		l.atoms[i] = s.atom
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.loss, b.loss) })
	for i, s := range steps {
		l.losses[i] = s.loss
		l.below[i+1] = [2]float64{l.below[i][0] + s.p, l.below[i][1] + s.q}
	}
	for i := range l.below {
		l.below[i][1] += impossible
	}
	l.above[n][0] = infinite
	for i := n - 1; i >= 0; i-- {
		l.above[i] = [2]float64{l.above[i+1][0] + steps[i].p, l.above[i+1][1] + steps[i].q}
	}
	return l
}

func (l *Ladder) after(loss float64) int {
	return sort.Search(len(l.losses), func(i int) bool { return l.losses[i] > loss })
}

func (l *Ladder) Above(loss float64) (p, q float64) {
	tail := l.above[l.after(loss)]
	return tail[0], tail[1]
}

func (l *Ladder) Below(loss float64) (p, q float64) {
	tail := l.below[l.after(loss)]
	return tail[0], tail[1]
}

// Support returns the least and the greatest finite loss, or ∓Inf where none is finite.
func (l *Ladder) Support() (least, greatest float64) {
	if len(l.losses) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return l.losses[0], l.losses[len(l.losses)-1]
}

func (l *Ladder) Infinite() float64 { return l.infinite }

func (l *Ladder) Cumulant() func(c float64) (k, k1, k2 float64) {
	return func(c float64) (k, k1, k2 float64) { return l.atoms.cumulant(c, l.infinite) }
}

// Line returns the transform as a sum over the outcomes.
func (l *Ladder) Line(c, step float64, count int) Line {
	return l.atoms.line(c, step, count, l.infinite, 0)
}

// Tail returns log M(c): |M(c+iy)| ≤ M(c), and comes back to it where the losses are on a lattice.
func (l *Ladder) Tail(c, _ float64) float64 {
	k, _, _ := l.atoms.cumulant(c, l.infinite)
	return k
}

// Steps calls yield with every finite loss and its chance under P until yield returns false.
func (l *Ladder) Steps(yield func(loss, p float64) bool) {
	for _, s := range l.atoms {
		if !yield(s.loss, s.p) {
			return
		}
	}
}

// upward returns the share of P's probability of an outcome with this loss that moves to high when
// the rest moves to low, such that P and Q of the two add up to those of the outcome. The outcome
// can be drawn from the two, so they tell P and Q apart at least as well ("connect the dots",
// Doroshenko et al. 2022, arXiv:2207.04380).
func upward(loss, low, high float64) float64 { return math.Expm1(low-loss) / math.Expm1(low-high) }

// Discrete returns the pair of distributions over finitely many outcomes under which outcome i has
// the probabilities p[i] and q[i]. p adds up to 1, and so does q.
func Discrete(p, q []float64) *Ladder {
	var steps []step
	var infinite, impossible float64
	for i := range p {
		switch {
		case q[i] == 0:
			infinite += p[i]
		case p[i] == 0:
			impossible += q[i]
		default:
			loss := math.Log(p[i] / q[i])
			if ratio := p[i] / q[i]; ratio < 0x1p-1000 || ratio > 0x1p1000 {
				loss = numeric.Log(p[i]) - numeric.Log(q[i])
			}
			steps = append(steps, step{atom{p[i], loss}, q[i]})
		}
	}
	return ladderOf(steps, infinite, impossible)
}

// RandomizedResponse returns the pair of k-ary randomized response when one record is replaced:
// with probability noise the answer is uniform among all k, else it is the truth. It serves both
// directions. The k-2 answers that are equally likely under both datasets are one outcome.
func RandomizedResponse(k int, noise float64) *Ladder {
	other := noise / float64(k)
	truth := 1 - noise + other
	rest := float64(k-2) * other
	return Discrete([]float64{truth, other, rest}, []float64{other, truth, rest})
}

// ApproxDP returns the pair that dominates every (ε, δ)-private mechanism (Kairouz, Oh, Viswanath
// 2015, arXiv:1311.0776, Theorem 3.2): the loss is +Inf with probability δ, and else the loss of
// binary randomized response with odds e^ε. It serves both directions.
func ApproxDP(epsilon, delta float64) *Ladder {
	odds := math.Exp(-epsilon)
	likely := (1 - delta) / (1 + odds)
	unlikely := likely * odds
	return Discrete([]float64{delta, likely, unlikely, 0}, []float64{0, unlikely, likely, delta})
}
