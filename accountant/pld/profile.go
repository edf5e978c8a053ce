package pld

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/mechanism"
	"dpsgd/accountant/pld/internal/contour"
	"dpsgd/accountant/pld/internal/grid"
)

// profileQuery is a question about the privacy profile δ(ε) of a composition: epsilonAt or
// deltaAt. What a direction is asked are its releases.
type profileQuery interface {
	validate() error

	// withoutGuarantee is the answer for a release without any guarantee.
	withoutGuarantee() accountant.Interval

	// single answers for one release, by the closed form.
	single(p pair.Pair) accountant.Interval

	contour(parts []contour.Part) (contour.Interval, error)
	chernoff(parts []contour.Part) float64 // an upper bound
	grid(parts []grid.Part, o grid.Options) (grid.Interval, error)

	// dominated reports whether the answer of a direction is certainly at most known,
	// cheaply: that spares most questions the second direction.
	dominated(rs []releasePair, known accountant.Interval) bool

	// capped keeps an answer within what the support of the losses allows.
	capped(p pairs, i accountant.Interval, err error) (accountant.Interval, error)
}

// epsilonAt asks for the least ε at delta.
type epsilonAt struct{ delta float64 }

// deltaAt asks for δ at epsilon.
type deltaAt struct{ epsilon float64 }

// oneDirection answers a query for the releases of one direction, and says how.
type oneDirection func(rs []releasePair, q profileQuery) (i accountant.Interval, method string, err error)

// askProfile answers a query about a ledger: in closed form for one release, else by the
// direction with the larger answer.
func askProfile(l *accountant.Ledger, r accountant.Relation, q profileQuery, ask oneDirection) (i accountant.Interval, method string, err error) {
	if err := q.validate(); err != nil {
		return accountant.Interval{}, "", err
	}
	p, err := dominatingPairs(l, r)
	switch {
	case err != nil:
		return accountant.Interval{}, "", err
	case p.infinite:
		return q.withoutGuarantee(), methodNone, nil
	case len(p.removed) == 0:
		return accountant.Interval{}, methodNothing, nil
	case len(p.removed) == 1 && p.removed[0].count == 1:
		i = q.single(p.removed[0].pair)
		if p.added != nil {
			i = larger(i, q.single(p.added[0].pair))
		}
		return i, methodClosed, nil
	}
	i, method, err = ask(p.removed, q)
	if err == nil && p.added != nil && !q.dominated(p.added, i) {
		other, otherMethod, otherErr := ask(p.added, q)
		if other.Upper > i.Upper {
			method = otherMethod
		}
		i, err = larger(i, other), otherErr
	}
	if i, err = q.capped(p, i, err); err != nil {
		return accountant.Interval{}, "", err
	}
	return i, method, nil
}

// larger is the interval of the larger of two numbers.
func larger(a, b accountant.Interval) accountant.Interval {
	return accountant.Interval{Lower: max(a.Lower, b.Lower), Upper: max(a.Upper, b.Upper)}
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

// byContour answers in one direction by contour integration.
func byContour(rs []releasePair, q profileQuery) (accountant.Interval, string, error) {
	parts, ok := contourParts(rs)
	if !ok {
		return accountant.Interval{}, "", contour.ErrUncertified
	}
	i, err := q.contour(parts)
	return accountant.Interval(i), methodContour, err
}

// byPLD answers in one direction by privacy loss distributions.
func byPLD(rs []releasePair, q profileQuery, o grid.Options) (accountant.Interval, string, error) {
	var parts []grid.Part
	for _, r := range rs {
		parts = append(parts, grid.Part{Pair: r.pair, Count: r.count})
	}
	i, err := q.grid(parts, o)
	if errors.Is(err, grid.ErrTooFine) {
		err = fmt.Errorf("%w: %w", accountant.ErrUncertified, err)
	}
	if err == nil && math.IsInf(i.Upper, 1) && !math.IsInf(i.Lower, 1) {
		err = fmt.Errorf("%w: δ is below what the rounding of a PLD leaves of it", accountant.ErrUncertified)
	}
	return accountant.Interval(i), methodPLD, err
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

// certainlyAtMost reports whether δ(epsilon) of a direction is at most delta, by the support
// of the loss or by Chernoff's bound.
func certainlyAtMost(rs []releasePair, epsilon, delta float64) bool {
	if greatestLoss(rs) < epsilon*(1-1e-12) {
		return true
	}
	parts, ok := contourParts(rs)
	return ok && delta > 0 && contour.Below(parts, epsilon, delta)
}

// slackOfGaussian bounds how far package mechanism rounds up.
const slackOfGaussian = 2e-12

// gaussianOf returns the noise of a pair of one Gaussian release, whose profile package
// mechanism knows better.
func gaussianOf(p pair.Pair) (sigma float64, ok bool) {
	m, ok := p.(pair.Mixtures)
	if !ok {
		return 0, false
	}
	return m.Noise()
}

func (q epsilonAt) validate() error { return accountant.ValidateDelta(q.delta) }

func (q epsilonAt) withoutGuarantee() accountant.Interval {
	return accountant.Interval{Lower: math.Inf(1), Upper: math.Inf(1)}
}

func (q epsilonAt) single(p pair.Pair) accountant.Interval {
	low, up := pair.Epsilon(p, q.delta)
	if sigma, ok := gaussianOf(p); ok {
		if epsilon, err := mechanism.GaussianEpsilon(sigma, q.delta); err == nil {
			low, up = min(low, epsilon), epsilon
		}
	}
	return accountant.Interval{Lower: low, Upper: up}
}

func (q epsilonAt) contour(parts []contour.Part) (contour.Interval, error) {
	return contour.Epsilon(parts, q.delta)
}

func (q epsilonAt) chernoff(parts []contour.Part) float64 {
	return contour.ChernoffEpsilon(parts, q.delta)
}

func (q epsilonAt) grid(parts []grid.Part, o grid.Options) (grid.Interval, error) {
	return grid.Epsilon(parts, q.delta, o)
}

func (q epsilonAt) dominated(rs []releasePair, known accountant.Interval) bool {
	return certainlyAtMost(rs, known.Lower, q.delta)
}

// capped: with losses that are all bounded, ε is at most their sum, and no answer is needed
// from numerics that have none.
func (q epsilonAt) capped(p pairs, i accountant.Interval, err error) (accountant.Interval, error) {
	most := max(greatestLoss(p.removed), greatestLoss(p.added)) * (1 + 1e-12)
	switch {
	case math.IsInf(most, 1) || err != nil && !errors.Is(err, accountant.ErrUncertified):
		return i, err
	case err != nil:
		return accountant.Interval{Lower: 0, Upper: most}, nil
	}
	return accountant.Interval{Lower: min(i.Lower, most), Upper: min(i.Upper, most)}, nil
}

func (q deltaAt) validate() error { return accountant.ValidateEpsilon(q.epsilon) }

func (q deltaAt) withoutGuarantee() accountant.Interval {
	return accountant.Interval{Lower: 1, Upper: 1}
}

func (q deltaAt) single(p pair.Pair) accountant.Interval {
	low, up := pair.Delta(p, q.epsilon)
	if sigma, ok := gaussianOf(p); ok {
		if delta, err := mechanism.GaussianDelta(sigma, q.epsilon); err == nil {
			low, up = delta*(1-slackOfGaussian), delta
		}
	}
	return accountant.Interval{Lower: low, Upper: up}
}

func (q deltaAt) contour(parts []contour.Part) (contour.Interval, error) {
	return contour.Delta(parts, q.epsilon)
}

func (q deltaAt) chernoff(parts []contour.Part) float64 {
	return contour.ChernoffDelta(parts, q.epsilon)
}

func (q deltaAt) grid(parts []grid.Part, o grid.Options) (grid.Interval, error) {
	return grid.Delta(parts, q.epsilon, o)
}

func (q deltaAt) dominated(rs []releasePair, known accountant.Interval) bool {
	return certainlyAtMost(rs, q.epsilon, known.Lower)
}

// capped: δ is 0 only where the losses are known to be below ε, which the answers know.
func (q deltaAt) capped(_ pairs, i accountant.Interval, err error) (accountant.Interval, error) {
	return i, err
}
