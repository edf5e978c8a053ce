// Package pld accounts for privacy by dominating pairs of distributions (Zhu, Dong, Wang 2022,
// arXiv:2106.08567), the law of whose privacy loss gives the tightest ε that there is.
//
// [Exact], made by [NewExact] or by the name "exact", integrates the transform of the loss along a
// contour: the exact ε to many digits, in about a millisecond. [Accountant], made by [New] or by the name
// "pld", puts the loss on a grid and composes by FFT: a little looser, and computed in another way, so
// that each checks the other. Both bound the truth from below too, see [Exact.EpsilonInterval], and both
// know the same events: those of which a dominating pair is known.
package pld

import (
	"errors"

	"dpsgd/accountant"
	"dpsgd/accountant/pld/internal/contour"
	"dpsgd/accountant/pld/internal/grid"
)

const (
	nameExact = "exact"

	methodPairs    = "dominating pairs (Zhu, Dong, Wang 2022), "
	methodClosed   = methodPairs + "exact privacy profile of one release"
	methodContour  = methodPairs + "exact privacy profile by contour integration, upper bound with truncation bounded and rounding estimated"
	methodChernoff = methodPairs + "Rényi divergences of all real orders"
	methodNothing  = "nothing was released about anyone"
	methodNone     = "a release without any guarantee"
)

// Exact is the accountant that answers with the exact epsilon or delta of the dominating
// pairs of a ledger, to many digits and never below it: for Poisson-sampled Gaussian
// releases under AddOrRemoveOne the pairs are attained, so no tighter answer exists.
//
// One release has a closed form. A composition is computed by inverting the transform of
// its privacy loss along a contour through the saddle point, with bounds for every
// error. Where the transform decays too slowly for that (few releases, or losses
// that take few values) the answer is that of Accountant, and where that one has none either
// Chernoff's bound, which is the bound of RDP over all real orders. Method says so, and the
// interval how wide it is.
//
// It analyses what Accountant analyses, and holds no state.
type Exact struct{ relation accountant.Relation }

var _ accountant.IntervalAccountant = (*Exact)(nil)

// NewExact returns the exact accountant for relation r.
func NewExact(r accountant.Relation) (*Exact, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return &Exact{r}, nil
}

// Name returns "exact".
func (a *Exact) Name() string { return nameExact }

// Relation returns the relation that a was made for.
func (a *Exact) Relation() accountant.Relation { return a.relation }

// Guarantee returns epsilon at delta, not below the exact one of the dominating pairs. See
// accountant.Accountant for the errors, and EpsilonInterval for how far above it can be.
func (a *Exact) Guarantee(l *accountant.Ledger, delta float64) (accountant.Guarantee, error) {
	i, method, err := askProfile(l, a.relation, epsilonAt{delta}, exactDirection)
	return orNone(accountant.Guarantee{Epsilon: i.Upper, Delta: delta, Relation: a.relation, Method: method}, err)
}

// Delta returns delta at epsilon.
func (a *Exact) Delta(l *accountant.Ledger, epsilon float64) (accountant.Guarantee, error) {
	i, method, err := askProfile(l, a.relation, deltaAt{epsilon}, exactDirection)
	return orNone(accountant.Guarantee{Epsilon: epsilon, Delta: i.Upper, Relation: a.relation, Method: method}, err)
}

// EpsilonInterval returns bounds of the exact epsilon at delta.
func (a *Exact) EpsilonInterval(l *accountant.Ledger, delta float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.relation, epsilonAt{delta}, exactDirection)
	return i, err
}

// DeltaInterval returns bounds of the exact delta at epsilon.
func (a *Exact) DeltaInterval(l *accountant.Ledger, epsilon float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.relation, deltaAt{epsilon}, exactDirection)
	return i, err
}

// exactDirection answers by contour integration, else by PLD, else by Chernoff's bound.
func exactDirection(rs []releasePair, q profileQuery) (i accountant.Interval, method string, err error) {
	if i, method, err = byContour(rs, q); !errors.Is(err, contour.ErrUncertified) {
		return i, method, err
	}
	i, method, err = byPLD(rs, q, grid.Options{})
	if parts, ok := contourParts(rs); ok {
		if bound := q.chernoff(parts); err != nil || bound < i.Upper {
			return accountant.Interval{Lower: min(i.Lower, bound), Upper: bound}, methodChernoff, nil
		}
	}
	return i, method, err
}
