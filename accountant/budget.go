package accountant

import (
	"fmt"
	"math"
)

// budget compares releases with a target by an accountant. It keeps its first error: from
// then on excess returns +Inf, and the solver looks at err when it has ended.
type budget struct {
	a      Accountant
	target Guarantee
	err    error
}

// excess returns log(epsilon/target) of count releases of e: above 0 exactly if they are
// not within the target, -Inf for an epsilon of 0, +Inf without a guarantee or after an
// error. It is never NaN.
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

// sameRelation returns an error if the two guarantees are under different relations.
func sameRelation(g, target Guarantee) error {
	if g.Relation != target.Relation {
		return fmt.Errorf("%w: target is under %v, the accountant answers under %v",
			ErrUnsupported, target.Relation, g.Relation)
	}
	return nil
}
