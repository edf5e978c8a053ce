// Package pld accounts for privacy by dominating pairs of distributions (Zhu, Dong, Wang 2022,
// arXiv:2106.08567): the law of their privacy loss gives the tightest ε.
//
// [NewExact] makes the accountant "exact", which integrates the transform of the loss along a
// contour: the exact ε to many digits, in about a millisecond. [New] makes "pld", which puts the
// loss on a grid and composes by FFT: a little looser, and computed in another way, so that each
// checks the other. Both also give a lower bound of the truth, see [Accountant.EpsilonInterval].
package pld

import (
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
)

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

// `pld` puts the losses on a grid. The loss of a composition is the sum of the losses of its
// releases, so its distribution is the convolution of theirs, and δ(ε) = E_P[(1 - e^(ε-L))₊]. Every
// error of the numerics has a bound that is part of the answer:
//
//   - The losses of one release are put on a grid twice, once so that δ(ε) of any composition
//     cannot fall (connectDots) and once so that it cannot grow (merge). Both errors are
//     quadratic in the spacing of the grid.
//   - Tails of single releases are cut off: above, their mass becomes part of δ, or is left out
//     for the lower end; below, it is raised to the first grid point, or left out.
//   - The transform is periodic. What lies outside of its window is wrapped into it, and has
//     at most the mass that Chernoff's bound allows.
//   - Rounding of the transforms and powers is bounded in the 2-norm (slips).
//   - Losses and tails themselves are rounded. Each loss may be off by 1e-9 of a grid spacing;
//     ε is widened by that, times the number of releases. This allowance is generous, but
//     unlike the others it is not derived from the arithmetic of every pair.
//
// The law of the loss is tilted by e^(θL) before the transform, with the θ that moves its mean to
// the ε of the question, and the window is around that ε. So the errors of the transform are
// relative to δ, and a δ of 1e-15 or 1e-70 is answered as one of 1e-5. Tilt, grid, window and cells
// are chosen from a sketch of the losses. A poor sketch makes the interval wide, not wrong.
//
// Where a tilt cannot bring the mass to ε, a δ below about 1e-15 times the number of releases
// drowns in the bound of rounding, and the interval is wide: a release with a tiny sampling
// probability at an ε that one rare jump of the loss reaches. The size of the transform grows with
// the square root of the number of releases: 10,000 steps take some 10 ms, a million some 100 ms.
//
// Sources beside Doroshenko et al. 2022 (arXiv:2207.04380): Koskela, Jälkö, Honkela 2020
// (arXiv:1906.03049), Gopi, Lee, Wutschitz 2021 (arXiv:2106.02848), Zhu, Dong, Wang 2022
// (arXiv:2106.08567).

// gridEpsilon returns bounds of the least ε ≥ 0 for which the composition of the parts, in their
// direction, is (ε, δ)-private. It is +Inf if δ is at most the chance of an infinite loss. The
// error matches accountant.ErrUncertified where the grid needs a larger transform than there is.
func gridEpsilon(parts []pair.Part, delta float64) (accountant.Interval, error) {
	left, least := pair.WithoutInfinite(parts, delta)
	switch {
	case !(left > 0):
		return accountant.Interval{Lower: least, Upper: math.Inf(1)}, nil
	case harmless(parts):
		return accountant.Interval{}, nil
	}
	return newSketch(parts, left).planEpsilon(left).epsilon(delta)
}

func (p *plan) epsilon(delta float64) (accountant.Interval, error) {
	pessimistic, optimistic, err := p.compose()
	if err != nil {
		return accountant.Interval{}, err
	}
	return accountant.Interval{
		Lower: max(0, optimistic.epsilon(delta, 0, lower)-p.slack),
		Upper: max(0, pessimistic.epsilon(delta, -p.slack, upper)+p.slack),
	}, nil
}

// gridDelta returns bounds of the least δ for which the composition of the parts, in their
// direction, is (ε, δ)-private.
func gridDelta(parts []pair.Part, epsilon float64) (accountant.Interval, error) {
	if harmless(parts) {
		infinite := pair.Infinite(parts)
		return accountant.Interval{Lower: infinite, Upper: infinite}, nil
	}
	return newSketchAt(parts, epsilon).planDelta(epsilon).delta(epsilon)
}

func (p *plan) delta(epsilon float64) (accountant.Interval, error) {
	pessimistic, optimistic, err := p.compose()
	if err != nil {
		return accountant.Interval{}, err
	}
	return accountant.Interval{
		Lower: optimistic.delta(epsilon+p.slack, lower),
		Upper: min(pessimistic.delta(epsilon-p.slack, upper), 1),
	}, nil
}

// harmless reports whether no finite loss is above 0: δ(ε) is then P[L = +Inf] for every ε ≥ 0.
func harmless(parts []pair.Part) bool {
	for _, p := range parts {
		if above, _ := p.Pair.Above(0); above > p.Pair.Infinite() {
			return false
		}
	}
	return true
}
