package theorems

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/numeric"
)

const (
	nameBasic    = "basic"
	nameAdvanced = "advanced"
	nameOptimal  = "optimal"
)

// Accountant is an accountant.Accountant that uses the (ε, δ) of every release and a theorem about
// the composition of (ε, δ) alone. Its answers are far above the answers of accountants that look
// at whole distributions, and serve for comparison.
//
// It analyses Gaussian, Laplace, ApproxDP, ZCDP, AddOrRemoveDP, BoundedRange, DiscreteLaplace and
// DiscreteGaussian under every relation,
// RandomizedResponse under ReplaceOne, and samples of one of these: PoissonSampled of
// Gaussian and Laplace, and of ApproxDP under AddOrRemoveOne; FixedSizeSampled under
// ReplaceOne. See releaseCost for what each costs.
//
// A release such as Gaussian has an ε for every δ. Of what the δs of ApproxDP leave of the
// δ asked about, all such releases get equal shares: together the whole of it for basic
// composition, and half of it for the other theorems, which need the rest. Other shares may
// give less. "optimal" is never above "advanced", nor that above "basic".
//
// Delta is found by solving for it, to a relative 1e-9 on the private side.
type Accountant struct {
	relation accountant.Relation
	rule     compositionRule
}

// compositionRule holds what differs between the accountants.
type compositionRule struct {
	name, method string
	compose      theorem // beside basic composition, or nil
}

// theorem answers a question about all releases.
type theorem func(q *question) (epsilon float64, err error)

func basic(q *question) (float64, error) { return q.basic(), nil }

var _ accountant.Accountant = (*Accountant)(nil)

const methodComposition = " of the (ε, δ) of each release"

// NewBasic returns the accountant "basic": the sum of the epsilons and of the deltas
// (Dwork, Kenthapadi, McSherry, Mironov, Naor 2006; Theorem 3.16 of Dwork, Roth 2014).
func NewBasic(r accountant.Relation) (*Accountant, error) {
	return newComposition(r, compositionRule{
		name:   nameBasic,
		method: "basic composition (Dwork et al. 2006)" + methodComposition,
	})
}

// NewAdvanced returns the accountant "advanced": the smaller one of basic composition and
// of the advanced composition of Dwork, Rothblum, Vadhan 2010 in its sharpest closed form
// for different releases, the second and third term of Theorem 3.5 of Kairouz, Oh, Viswanath
// 2015 (arXiv:1311.0776).
func NewAdvanced(r accountant.Relation) (*Accountant, error) {
	return newComposition(r, compositionRule{
		name:    nameAdvanced,
		method:  "advanced composition (Dwork, Rothblum, Vadhan 2010; closed form of Kairouz, Oh, Viswanath 2015)" + methodComposition,
		compose: func(q *question) (float64, error) { return q.closedForm(), nil },
	})
}

// NewOptimal returns the accountant "optimal": the best that can be said from (ε, δ)
// alone (Kairouz, Oh, Viswanath 2015, arXiv:1311.0776, Theorem 3.3, for equal releases;
// Murtagh, Vadhan 2016, arXiv:1507.03113, Theorem 1.5, for different ones, where it may be
// off by up to about 1e-4 of the deviation of the losses).
func NewOptimal(r accountant.Relation) (*Accountant, error) {
	return newComposition(r, compositionRule{
		name:    nameOptimal,
		method:  "optimal composition (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016)" + methodComposition,
		compose: (*question).optimal,
	})
}

func newComposition(r accountant.Relation, rule compositionRule) (*Accountant, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &Accountant{relation: r, rule: rule}, nil
}

// Name returns "basic", "advanced" or "optimal".
func (c *Accountant) Name() string { return c.rule.name }

// Relation returns the relation that c was made for.
func (c *Accountant) Relation() accountant.Relation { return c.relation }

// Guarantee returns epsilon at delta of the whole ledger. See accountant.Accountant.
func (c *Accountant) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	if err := accountant.ValidateDelta(delta); err != nil {
		return accountant.Guarantee{}, err
	}
	s, err := c.shares(l)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	epsilon, err := c.epsilon(s, delta)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	return c.guarantee(epsilon, delta), nil
}

// Delta returns delta at epsilon of the whole ledger. See accountant.Accountant.
func (c *Accountant) Delta(l *accountant.Ledger, epsilon float64) (accountant.Guarantee, error) {
	if err := accountant.ValidateEpsilon(epsilon); err != nil {
		return accountant.Guarantee{}, err
	}
	s, err := c.shares(l)
	if err != nil {
		return accountant.Guarantee{}, err
	}
	delta := 0.0
	if pure, err := s.compose(basic, 0, 1); err != nil {
		return accountant.Guarantee{}, err
	} else if pure > epsilon {
		delta, err = numeric.LeastDelta(func(delta float64) (float64, error) { return c.epsilon(s, delta) }, epsilon)
		if err != nil {
			return accountant.Guarantee{}, err
		}
	}
	return c.guarantee(epsilon, delta), nil
}

func (c *Accountant) guarantee(epsilon, delta float64) accountant.Guarantee {
	return accountant.Guarantee{Epsilon: epsilon, Delta: delta, Relation: c.relation, Method: c.rule.method}
}

// epsilon returns the ε of the theorem, or of basic composition where that is less.
func (c *Accountant) epsilon(s deltaShares, delta float64) (float64, error) {
	epsilon, err := s.compose(basic, delta, 1)
	if err != nil || c.rule.compose == nil || epsilon == 0 {
		return epsilon, err
	}
	better, err := s.compose(c.rule.compose, delta, 0.5)
	return min(epsilon, better), err
}

// costed is a release that happens count times.
type costed struct {
	cost
	count int
}

// deltaShares says what the releases do with delta.
type deltaShares struct {
	all        []costed
	nonPrivate bool    // one has no guarantee at all
	fixed      float64 // Σδ of the releases that take no share
	takers     float64 // number of the others
}

func (c *Accountant) shares(l *accountant.Ledger) (deltaShares, error) {
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
		} else if g, err := cost.at(0); err != nil {
			return deltaShares{}, err
		} else {
			s.fixed = numeric.AddUp(s.fixed, numeric.MulUp(n, g.Delta))
		}
	}
	return s, nil
}

// compose hands out part of what is left of delta in equal shares and applies the theorem.
func (s deltaShares) compose(theorem theorem, delta, part float64) (float64, error) {
	left := (delta - s.fixed) * part * (1 - 1e-14)
	if s.nonPrivate || left < 0 || s.takers > 0 && left == 0 {
		return math.Inf(1), nil
	}
	var gs []counted
	for _, c := range s.all {
		g, err := c.at(left / max(s.takers, 1))
		if err != nil {
			return 0, err
		}
		gs = append(gs, counted{g, c.count})
	}
	return theorem(newQuestion(gs, delta))
}
