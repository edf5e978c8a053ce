package pld

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
	"dpsgd/accountant/theorems"
)

// question asks about the privacy profile δ(ε) of a composition: for the least ε at a given δ, or
// for the δ at a given ε. single, contour, grid and chernoff answer it for one direction.
type question struct {
	at       float64 // the given δ or ε
	validate func(at float64) error
	none     float64 // the answer for a release without any guarantee

	single   func(p pair.Pair, at float64) accountant.Interval // of one release, in closed form
	contour  func(parts []pair.Part, at float64) (accountant.Interval, error)
	grid     func(parts []pair.Part, at float64) (accountant.Interval, error)
	chernoff func(parts []pair.Part, at float64) (upper float64, err error)

	// dominated reports whether the answer for the parts of a direction is certainly at most
	// known, by a cheap bound, so that most questions need not ask the second direction.
	dominated func(parts []pair.Part, known accountant.Interval) bool

	// most returns an upper bound of the answer from the greatest losses, +Inf if they give none.
	most func(p pairs) float64
}

// epsilonAt returns the question for the least ε at delta. Its most adds up the greatest losses.
func epsilonAt(delta float64) question {
	return question{
		at: delta, validate: accountant.ValidateDelta, none: math.Inf(1),
		single: singleEpsilon, contour: contourEpsilon, grid: gridEpsilon, chernoff: chernoffEpsilon,
		dominated: func(parts []pair.Part, known accountant.Interval) bool {
			return certainlyAtMost(parts, known.Lower, delta)
		},
		most: func(p pairs) float64 {
			return max(greatestLoss(p.removed), greatestLoss(p.added)) * (1 + 1e-12)
		},
	}
}

// deltaAt returns the question for the least δ at epsilon. Its most is +Inf: the greatest losses
// bound an ε, but not a δ.
func deltaAt(epsilon float64) question {
	return question{
		at: epsilon, validate: accountant.ValidateEpsilon, none: 1,
		single: singleDelta, contour: contourDelta, grid: gridDelta, chernoff: chernoffDelta,
		dominated: func(parts []pair.Part, known accountant.Interval) bool {
			return certainlyAtMost(parts, epsilon, known.Lower)
		},
		most: func(pairs) float64 { return math.Inf(1) },
	}
}

// oneDirection answers a question about releases in one direction and names its method.
type oneDirection func(parts []pair.Part, q question) (i accountant.Interval, method string, err error)

// askProfile answers q for ledger l under r: for a single release in closed form, for several by
// ask. It returns the larger answer of the two directions, and 0 for a ledger that costs nothing.
func askProfile(l *accountant.Ledger, r accountant.Relation, q question, ask oneDirection) (i accountant.Interval, method string, err error) {
	if err := q.validate(q.at); err != nil {
		return accountant.Interval{}, "", err
	}
	p, err := dominatingPairs(l, r)
	switch {
	case err != nil:
		return accountant.Interval{}, "", err
	case p.infinite:
		return accountant.Interval{Lower: q.none, Upper: q.none}, methodNone, nil
	case len(p.removed) == 0:
		return accountant.Interval{}, methodNothing, nil
	case len(p.removed) == 1 && p.removed[0].Count == 1:
		i = q.single(p.removed[0].Pair, q.at)
		if p.added != nil {
			i = larger(i, q.single(p.added[0].Pair, q.at))
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
	if i.Lower > i.Upper { // in the last digits of tiny numbers: then it says nothing
		i.Lower = 0
	}
	switch most := q.most(p); {
	case err == nil:
		return accountant.Interval{Lower: min(i.Lower, most), Upper: min(i.Upper, most)}, method, nil
	case errors.Is(err, accountant.ErrUncertified) && !math.IsInf(most, 1):
		return accountant.Interval{Lower: 0, Upper: most}, method, nil // without the numerics
	}
	return accountant.Interval{}, "", err
}

// larger returns an interval that holds the larger of two numbers, given an interval of each.
func larger(a, b accountant.Interval) accountant.Interval {
	return accountant.Interval{Lower: max(a.Lower, b.Lower), Upper: max(a.Upper, b.Upper)}
}

// exactDirection answers by contour integration. Where that is uncertified it answers by PLD, or by
// Chernoff's bound if PLD fails or its upper bound is larger.
func exactDirection(parts []pair.Part, q question) (i accountant.Interval, method string, err error) {
	if i, err = q.contour(parts, q.at); !errors.Is(err, accountant.ErrUncertified) {
		return i, methodContour, err
	}
	i, method, err = byPLD(parts, q)
	if bound, no := q.chernoff(parts, q.at); no == nil && !math.IsInf(bound, 1) && (err != nil || bound < i.Upper) {
		return accountant.Interval{Lower: min(i.Lower, bound), Upper: bound}, methodChernoff, nil
	}
	return i, method, err
}

// byPLD answers in one direction by privacy loss distributions. An upper bound of +Inf over a
// finite lower one is ErrUncertified.
func byPLD(parts []pair.Part, q question) (accountant.Interval, string, error) {
	i, err := q.grid(parts, q.at)
	if err == nil && math.IsInf(i.Upper, 1) && !math.IsInf(i.Lower, 1) {
		err = fmt.Errorf("%w: δ is below what the rounding of a PLD leaves of it", accountant.ErrUncertified)
	}
	return i, methodPLD, err
}

// greatestLoss returns the sum of the greatest losses of all releases, +Inf if one is unbounded.
func greatestLoss(parts []pair.Part) float64 {
	sum := 0.0
	for _, p := range parts {
		if p.Pair.Infinite() > 0 {
			return math.Inf(1)
		}
		_, greatest := p.Pair.Support()
		sum += float64(p.Count) * greatest
	}
	return sum
}

// certainlyAtMost reports whether δ(epsilon) of a direction is sure to be at most delta, by the
// greatest losses or by Chernoff's bound. False says nothing.
func certainlyAtMost(parts []pair.Part, epsilon, delta float64) bool {
	if greatestLoss(parts) < epsilon*(1-1e-12) {
		return true
	}
	bound, err := chernoffDelta(parts, epsilon)
	return err == nil && bound < delta
}

// slackOfGaussian bounds the relative amount by which theorems.GaussianDelta rounds up.
const slackOfGaussian = 2e-12

// singleEpsilon returns bounds of ε at delta of one release, in closed form. For a Gaussian one it
// uses package theorems, which is more exact.
func singleEpsilon(p pair.Pair, delta float64) accountant.Interval {
	low, up := pair.Epsilon(p, delta)
	if sigma, ok := pair.Noise(p); ok {
		if epsilon, err := theorems.GaussianEpsilon(sigma, delta); err == nil {
			low, up = min(low, epsilon), epsilon
		}
	}
	return accountant.Interval{Lower: low, Upper: up}
}

// singleDelta returns bounds of δ at epsilon of one release, by the ways of singleEpsilon.
func singleDelta(p pair.Pair, epsilon float64) accountant.Interval {
	low, up := pair.Delta(p, epsilon)
	if sigma, ok := pair.Noise(p); ok {
		if delta, err := theorems.GaussianDelta(sigma, epsilon); err == nil {
			low, up = delta*(1-slackOfGaussian), delta
		}
	}
	return accountant.Interval{Lower: low, Upper: up}
}
