package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// budget asks an accountant about releases under a target. Its first error sticks:
// from then on everything counts as too much, and the solver looks at err in the end.
type budget struct {
	a      Accountant
	target Guarantee
	err    error
}

// excess is log(epsilon/target) of count releases of e: above 0 exactly if they are not
// within the target. NaN cannot occur, and infinities stand for epsilon 0 and no
// privacy.
func (b *budget) excess(e Event, count int) float64 {
	if b.err != nil {
		return math.Inf(1)
	}
	var l Ledger
	if b.err = l.Add(e, count); b.err != nil {
		return math.Inf(1)
	}
	var g Guarantee
	if g, b.err = b.a.Guarantee(&l, b.target.Delta); b.err != nil {
		return math.Inf(1)
	}
	if b.err = sameRelation(g, b.target); b.err != nil {
		return math.Inf(1)
	}
	if !g.Within(b.target) {
		// The logarithm could round a hair above the target to 0.
		return max(math.Log(g.Epsilon/b.target.Epsilon), math.SmallestNonzeroFloat64)
	}
	return min(math.Log(g.Epsilon/b.target.Epsilon), 0)
}

// solverTolerance is the relative width at which a solver over a real parameter stops.
const solverTolerance = 1e-9

// root returns the least x within [least, most] for which steps releases of event(x) are within the
// target, for an epsilon that falls with x, which is the logarithm of a parameter. The search begins
// at from. Sign says where the root is.
func (b *budget) root(event func(x float64) Event, steps int, from, least, most float64) (x float64, sign numeric.Sign, err error) {
	excess := func(x float64) float64 { return b.excess(event(x), steps) }
	around, sign := numeric.Enclose(excess, from, least, most)
	if b.err == nil && sign == numeric.Inside {
		x = around.Narrow(excess, solverTolerance)
	}
	return x, sign, b.err
}

// sameRelation refuses to compare guarantees under different relations.
func sameRelation(g, target Guarantee) error {
	if g.Relation != target.Relation {
		return fmt.Errorf("%w: target is under %v, the accountant answers under %v",
			ErrUnsupported, target.Relation, g.Relation)
	}
	return nil
}
