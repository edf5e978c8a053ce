// Package pld accounts for privacy by dominating pairs of distributions (Zhu, Dong, Wang 2022,
// arXiv:2106.08567), the law of whose privacy loss gives the tightest ε that there is.
//
// [NewExact] makes the accountant "exact", which integrates the transform of the loss along a
// contour: the exact ε to many digits, in about a millisecond. [New] makes "pld", which puts the
// loss on a grid and composes by FFT: a little looser, and computed in another way, so that each
// checks the other. Both also give a lower bound of the truth, see [Accountant.EpsilonInterval].
package pld

import "dpsgd/accountant"

const (
	methodPairs    = "dominating pairs (Zhu, Dong, Wang 2022), "
	methodClosed   = methodPairs + "exact privacy profile of one release"
	methodContour  = methodPairs + "exact privacy profile by contour integration, upper bound with truncation bounded and rounding estimated"
	methodChernoff = methodPairs + "Rényi divergences of all real orders"
	methodPLD      = methodPairs + "privacy loss distributions discretised pessimistically (connect-the-dots, " +
		"Doroshenko et al. 2022), composed by FFT"
	methodNothing = "nothing was released about anyone"
	methodNone    = "a release without any guarantee"
)

// Accountant answers with the epsilon or delta of the dominating pairs of a ledger, or a little
// more, never less. It analyses every event of which a dominating pair is known, and compositions.
// It holds no state.
type Accountant struct {
	accountant.Accountant
	ask oneDirection
}

var _ accountant.IntervalAccountant = (*Accountant)(nil)

// NewExact returns the accountant "exact" for relation r, whose answers are exact to many digits:
// for Poisson-sampled Gaussian releases under AddOrRemoveOne the pairs are attained, so no tighter
// answer exists.
//
// One release has a closed form. A composition is computed by inverting the transform of its
// privacy loss along a contour through the saddle point, with bounds for every error. Where the
// transform decays too slowly for that (few releases, or losses that take few values) "pld"
// answers, and where it cannot, Chernoff's bound, which is the bound of "rdp" over all real orders.
// The Method of an answer names which of these it is.
func NewExact(r accountant.Relation) (*Accountant, error) {
	return newAccountant("exact", r, exactDirection)
}

// New returns the accountant "pld" for relation r: the losses of the dominating pairs, discretised
// so that no answer is below the truth, and composed by fast Fourier transforms. Answers are within
// about 0.1 % of the truth. The numerics are independent of those of "exact".
func New(r accountant.Relation) (*Accountant, error) { return newAccountant("pld", r, byPLD) }

// newAccountant returns the accountant called name, which asks each direction by ask and answers
// with the upper ends of the intervals.
func newAccountant(name string, r accountant.Relation, ask oneDirection) (*Accountant, error) {
	upper := func(about func(given float64) question) accountant.Bound {
		return func(l *accountant.Ledger, given float64) (float64, string, error) {
			i, method, err := askProfile(l, r, about(given), ask)
			return i.Upper, method, err
		}
	}
	a, err := accountant.Make(name, r, upper(epsilonAt), upper(deltaAt))
	return &Accountant{a, ask}, err
}

// EpsilonInterval returns a lower and an upper bound of epsilon at delta of the dominating pairs.
func (a *Accountant) EpsilonInterval(l *accountant.Ledger, delta float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.Relation(), epsilonAt(delta), a.ask)
	return i, err
}

// DeltaInterval returns a lower and an upper bound of delta at epsilon of the dominating pairs.
func (a *Accountant) DeltaInterval(l *accountant.Ledger, epsilon float64) (accountant.Interval, error) {
	i, _, err := askProfile(l, a.Relation(), deltaAt(epsilon), a.ask)
	return i, err
}
