package theorems

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

// composition is an accountant that uses the (ε, δ) of every release and a theorem about
// the composition of (ε, δ) alone. Its answers are far above the answers of accountants that look
// at whole distributions, and serve for comparison.
//
// It analyses the events that releaseCost lists.
//
// A release such as Gaussian has an ε for every δ. The fixed δs, as of ApproxDP, come off the δ
// asked about. All other releases get equal shares of the rest: of all of it for basic composition,
// of half of it for the other theorems, which need the other half themselves. Other shares may give
// a smaller ε. "optimal" is never above "advanced", nor is "advanced" above "basic".
//
// The δ at an ε is found by search, to a relative 1e-9 on the private side.
type composition struct {
	relation accountant.Relation
	method   string
	theorem  theorem // the theorem beside basic composition, or nil
}

// theorem returns an ε at q.delta for the composition of q's mechanisms: +Inf if it knows none.
type theorem func(q *question) (epsilon float64)

// NewBasic returns the accountant "basic": the sum of the epsilons and of the deltas
// (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006; Theorem 3.16 of Dwork, Roth 2014).
func NewBasic(r accountant.Relation) (accountant.Accountant, error) {
	return newComposition(r, "basic", "basic composition (Dwork et al. 2006)", nil)
}

// NewAdvanced returns the accountant "advanced": the smaller one of basic composition and
// of the advanced composition of Dwork, Rothblum, Vadhan 2010 in its sharpest closed form
// for different releases, the second and third term of Theorem 3.5 of Kairouz, Oh, Viswanath
// 2015 (arXiv:1311.0776).
func NewAdvanced(r accountant.Relation) (accountant.Accountant, error) {
	const method = "advanced composition (Dwork, Rothblum, Vadhan 2010; closed form of Kairouz, Oh, Viswanath 2015)"
	return newComposition(r, "advanced", method, (*question).closedForm)
}

// NewOptimal returns the accountant "optimal": the best that can be said from (ε, δ)
// alone (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, Theorem 3.3, for equal releases;
// Murtagh, Vadhan 2016, arXiv:1507.03113, Theorem 1.5, for different ones, where it may be
// off by up to about 1e-4 of the deviation of the losses).
func NewOptimal(r accountant.Relation) (accountant.Accountant, error) {
	const method = "optimal composition (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016)"
	return newComposition(r, "optimal", method, (*question).optimal)
}

func newComposition(r accountant.Relation, name, method string, theorem theorem) (accountant.Accountant, error) {
	c := &composition{r, method + " of the (ε, δ) of each release", theorem}
	return accountant.Make(name, r, c.epsilon, c.delta)
}

func (c *composition) epsilon(l *accountant.Ledger, delta float64) (epsilon float64, method string, err error) {
	s, err := c.shares(l)
	return c.composed(s, delta), c.method, err
}

func (c *composition) delta(l *accountant.Ledger, epsilon float64) (delta float64, method string, err error) {
	s, err := c.shares(l)
	if err == nil && s.compose((*question).basic, 0, 1) > epsilon {
		delta = numeric.LeastDelta(func(delta float64) float64 { return c.composed(s, delta) }, epsilon)
	}
	return delta, c.method, err
}

// composed returns the ε at delta by the theorem, or by basic composition if that ε is less.
func (c *composition) composed(s deltaShares, delta float64) float64 {
	epsilon := s.compose((*question).basic, delta, 1)
	if c.theorem == nil || epsilon == 0 {
		return epsilon
	}
	return min(epsilon, s.compose(c.theorem, delta, 0.5))
}

// costed is the cost of a release that is made count times.
type costed struct {
	cost
	count int
}

// deltaShares holds the costs of a ledger's releases, and how they use up δ.
type deltaShares struct {
	all        []costed
	nonPrivate bool    // a release has no guarantee at all
	fixed      float64 // Σδ of the releases that take no share
	takers     float64 // number of releases that take a share
}

func (c *composition) shares(l *accountant.Ledger) (deltaShares, error) {
	released, err := accountant.Simplify(l)
	if err != nil {
		return deltaShares{}, err
	}
	s := deltaShares{nonPrivate: released.NonPrivate}
	for _, entry := range released.Entries {
		cost, err := releaseCost(entry.Event, c.relation)
		if err != nil {
			return deltaShares{}, err
		}
		s.all = append(s.all, costed{cost, entry.Count})
		if n := float64(entry.Count); cost.takesShare {
			s.takers += n
		} else {
			s.fixed = numeric.AddUp(s.fixed, numeric.MulUp(n, cost.at(0).Delta))
		}
	}
	return s, nil
}

// compose returns the theorem's ε at delta, if all releases that take a share get equal shares of
// part·(delta - fixed): +Inf if nothing is left for them, or a release has no guarantee.
func (s deltaShares) compose(theorem theorem, delta, part float64) float64 {
	left := (delta - s.fixed) * part * (1 - 1e-14)
	if s.nonPrivate || left < 0 || s.takers > 0 && left == 0 {
		return math.Inf(1)
	}
	var gs []counted
	for _, c := range s.all {
		gs = append(gs, counted{c.at(left / max(s.takers, 1)), c.count})
	}
	return theorem(newQuestion(gs, delta))
}
