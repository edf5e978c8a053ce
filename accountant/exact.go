package accountant

import (
	"errors"
	"math"

	"dpsgd/accountant/internal/contour"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/internal/pld"
	"dpsgd/accountant/mechanism"
)

const (
	nameExact = "exact"

	methodPairs    = "dominating pairs (Zhu, Dong, Wang 2022), "
	methodClosed   = methodPairs + "exact privacy profile of one release"
	methodContour  = methodPairs + "exact privacy profile by contour integration, certified upper bound"
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
// that take few values) the answer is that of PLD, and where that one has none either
// Chernoff's bound, which is the bound of RDP over all real orders. Method says so, and the
// interval how wide it is.
//
// It analyses what PLD analyses, and holds no state.
type Exact struct{ relation Relation }

var _ Bracketing = (*Exact)(nil)

// NewExact returns the exact accountant for relation r.
func NewExact(r Relation) (*Exact, error) {
	if err := validateRelation(r); err != nil {
		return nil, err
	}
	return &Exact{r}, nil
}

// Name returns "exact".
func (a *Exact) Name() string { return nameExact }

// Relation returns the relation that a was made for.
func (a *Exact) Relation() Relation { return a.relation }

// Guarantee returns epsilon at delta, not below the exact one of the dominating pairs. See
// Accountant for the errors, and EpsilonInterval for how far above it can be.
func (a *Exact) Guarantee(l *Ledger, delta float64) (Guarantee, error) {
	i, method, err := a.epsilon(l, delta)
	return Guarantee{Epsilon: i.Upper, Delta: delta, Relation: a.relation, Method: method}.orNone(err)
}

// Delta returns delta at epsilon.
func (a *Exact) Delta(l *Ledger, epsilon float64) (Guarantee, error) {
	i, method, err := a.delta(l, epsilon)
	return Guarantee{Epsilon: epsilon, Delta: i.Upper, Relation: a.relation, Method: method}.orNone(err)
}

// EpsilonInterval returns bounds of the exact epsilon at delta.
func (a *Exact) EpsilonInterval(l *Ledger, delta float64) (Interval, error) {
	i, _, err := a.epsilon(l, delta)
	return i, err
}

// DeltaInterval returns bounds of the exact delta at epsilon.
func (a *Exact) DeltaInterval(l *Ledger, epsilon float64) (Interval, error) {
	i, _, err := a.delta(l, epsilon)
	return i, err
}

func (a *Exact) epsilon(l *Ledger, delta float64) (i Interval, method string, err error) {
	if err := validateDelta(delta); err != nil {
		return Interval{}, "", err
	}
	p, err := dominatingPairs(l, a.relation)
	switch {
	case err != nil:
		return Interval{}, "", err
	case p.infinite:
		return Interval{math.Inf(1), math.Inf(1)}, methodNone, nil
	case len(p.removed) == 0:
		return Interval{}, methodNothing, nil
	}
	if single, ok := p.single(); ok {
		return single.epsilon(delta), methodClosed, nil
	}
	i, method, err = exactEpsilon(p.removed, delta)
	if err == nil && p.added != nil && !dominated(p.added, i.Lower, delta) {
		var other Interval
		var otherMethod string
		other, otherMethod, err = exactEpsilon(p.added, delta)
		i, method = largerBy(i, method, other, otherMethod)
	}
	i, err = p.capped(i, err)
	return i, method, err
}

func (a *Exact) delta(l *Ledger, epsilon float64) (i Interval, method string, err error) {
	if err := validateEpsilon(epsilon); err != nil {
		return Interval{}, "", err
	}
	p, err := dominatingPairs(l, a.relation)
	switch {
	case err != nil:
		return Interval{}, "", err
	case p.infinite:
		return Interval{1, 1}, methodNone, nil
	case len(p.removed) == 0:
		return Interval{}, methodNothing, nil
	}
	if single, ok := p.single(); ok {
		return single.delta(epsilon), methodClosed, nil
	}
	i, method, err = exactDelta(p.removed, epsilon)
	if err == nil && p.added != nil && !dominated(p.added, epsilon, i.Lower) {
		var other Interval
		var otherMethod string
		other, otherMethod, err = exactDelta(p.added, epsilon)
		i, method = largerBy(i, method, other, otherMethod)
	}
	return i, method, err
}

// exactEpsilon answers in one direction: by contour integration, else by PLD, else by
// Chernoff's bound.
func exactEpsilon(rs []releasePair, delta float64) (i Interval, method string, err error) {
	if i, err = contourEpsilon(rs, delta); !errors.Is(err, contour.ErrUncertified) {
		return i, methodContour, err
	}
	i, err = pldEpsilon(rs, delta, pld.Options{})
	if parts, ok := contourParts(rs); ok {
		if bound := contour.ChernoffEpsilon(parts, delta); err != nil || bound < i.Upper {
			return Interval{min(i.Lower, bound), bound}, methodChernoff, nil
		}
	}
	return i, methodPLD, err
}

// exactDelta is exactEpsilon for δ.
func exactDelta(rs []releasePair, epsilon float64) (i Interval, method string, err error) {
	if i, err = contourDelta(rs, epsilon); !errors.Is(err, contour.ErrUncertified) {
		return i, methodContour, err
	}
	i, err = pldDelta(rs, epsilon, pld.Options{})
	if parts, ok := contourParts(rs); ok {
		if bound := contour.ChernoffDelta(parts, epsilon); err != nil || bound < i.Upper {
			return Interval{min(i.Lower, bound), bound}, methodChernoff, nil
		}
	}
	return i, methodPLD, err
}

// largerBy is larger, with the method of the one that decides.
func largerBy(a Interval, methodA string, b Interval, methodB string) (Interval, string) {
	if b.Upper > a.Upper {
		methodA = methodB
	}
	return larger(a, b), methodA
}

// capped keeps an answer for ε within the greatest loss there is: if the losses of all
// releases are bounded, no answer is needed from numerics that have none.
func (p pairs) capped(i Interval, err error) (Interval, error) {
	most := max(greatestLoss(p.removed), greatestLoss(p.added))
	if math.IsInf(most, 1) || err != nil && !errors.Is(err, ErrUncertified) {
		return i, err
	}
	most *= 1 + 1e-12
	if err != nil {
		return Interval{0, most}, nil
	}
	return Interval{min(i.Lower, most), min(i.Upper, most)}, nil
}

// greatestLoss returns the sum of the greatest losses, +Inf if one is unbounded.
func greatestLoss(rs []releasePair) float64 {
	sum := 0.0
	for _, r := range rs {
		if r.pair.Infinite() > 0 {
			return math.Inf(1)
		}
		_, greatest := r.pair.Support()
		sum += float64(r.count) * greatest
	}
	return sum
}

// larger is the interval of the larger of two numbers.
func larger(a, b Interval) Interval {
	return Interval{max(a.Lower, b.Lower), max(a.Upper, b.Upper)}
}

// contourParts returns the releases for package contour, if all of them have transforms.
func contourParts(rs []releasePair) ([]contour.Part, bool) {
	var parts []contour.Part
	for _, r := range rs {
		t, ok := r.pair.(pair.Transformer)
		if !ok {
			return nil, false
		}
		parts = append(parts, contour.Part{Pair: t, Count: r.count})
	}
	return parts, true
}

func contourEpsilon(rs []releasePair, delta float64) (Interval, error) {
	parts, ok := contourParts(rs)
	if !ok {
		return Interval{}, contour.ErrUncertified
	}
	i, err := contour.Epsilon(parts, delta)
	return Interval(i), err
}

func contourDelta(rs []releasePair, epsilon float64) (Interval, error) {
	parts, ok := contourParts(rs)
	if !ok {
		return Interval{}, contour.ErrUncertified
	}
	i, err := contour.Delta(parts, epsilon)
	return Interval(i), err
}

// dominated reports whether δ(epsilon) in one direction is certainly at most delta, by
// the support of the loss or by Chernoff's bound. That spares most questions the second
// direction.
func dominated(rs []releasePair, epsilon, delta float64) bool {
	greatest := greatestLoss(rs)
	if greatest < epsilon*(1-1e-12) {
		return true
	}
	parts, ok := contourParts(rs)
	return ok && delta > 0 && contour.Below(parts, epsilon, delta)
}

// single returns the only release, if there is only one.
func (p pairs) single() (singleRelease, bool) {
	if len(p.removed) != 1 || p.removed[0].count != 1 {
		return singleRelease{}, false
	}
	s := singleRelease{p.removed[0].pair}
	if p.added != nil {
		s = append(s, p.added[0].pair)
	}
	return s, true
}

// singleRelease is the pair of one release in each direction.
type singleRelease []pair.Pair

// slackOfGaussian bounds how far package mechanism rounds up.
const slackOfGaussian = 2e-12

func (s singleRelease) delta(epsilon float64) Interval {
	var i Interval
	for _, p := range s {
		low, up := pair.Delta(p, epsilon)
		if sigma, ok := gaussianOf(p); ok {
			if delta, err := mechanism.GaussianDelta(sigma, epsilon); err == nil {
				low, up = delta*(1-slackOfGaussian), delta
			}
		}
		i = larger(i, Interval{low, up})
	}
	return i
}

func (s singleRelease) epsilon(delta float64) Interval {
	var i Interval
	for _, p := range s {
		low, up := pair.Epsilon(p, delta)
		if sigma, ok := gaussianOf(p); ok {
			if epsilon, err := mechanism.GaussianEpsilon(sigma, delta); err == nil {
				low, up = min(low, epsilon), epsilon
			}
		}
		i = larger(i, Interval{low, up})
	}
	return i
}

// gaussianOf returns the noise of a pair of one Gaussian release, whose profile package
// mechanism knows better.
func gaussianOf(p pair.Pair) (sigma float64, ok bool) {
	m, ok := p.(pair.Mixtures)
	if !ok {
		return 0, false
	}
	return m.Noise()
}

// orNone returns g, or nothing but the error.
func (g Guarantee) orNone(err error) (Guarantee, error) {
	if err != nil {
		return Guarantee{}, err
	}
	return g, nil
}

func validateRelation(r Relation) error {
	_, err := r.MarshalText()
	return err
}
