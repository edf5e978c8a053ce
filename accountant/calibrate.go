package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// The least and the largest noise multiplier that CalibrateNoiseMultiplier tries.
const (
	minCalibrated = 1e-3
	maxCalibrated = 1e9
)

// CalibrateNoiseMultiplier returns the least noise multiplier for which steps
// releases of event(noiseMultiplier) stay within target by the accountant a: the
// smallest one to a relative 1e-9, on the private side, so the guarantee computed for
// the result is never above target. For a step of DP-SGD, event is
//
//	func(sigma float64) Event { return PoissonSampled{q, Gaussian{sigma}} }
//
// It may be any family of events whose cost does not rise with its argument, for
// instance Laplace by its scale. Epsilon is computed some 12 times.
//
// Results are at least 0.001, also where less noise would do (as it does for q = 0). If not even a
// noise multiplier of 1e9 is within target, for instance because its epsilon is below what the
// orders of an RDP accountant can show, the error matches ErrUnreachable. Epsilon must be finite
// and above 0, delta in (0, 1), steps at least 1, and a must account under target.Relation.
func CalibrateNoiseMultiplier(a Accountant, event func(noiseMultiplier float64) Event, steps int, target Guarantee) (float64, error) {
	// Epsilon is close to a power of σ, so the search is for log σ.
	sigma, reached, err := solve(a, event, math.Exp, steps, target, 0, math.Log(minCalibrated), math.Log(maxCalibrated))
	if err == nil && !reached {
		err = fmt.Errorf("%w: epsilon %v at delta %v for %d steps: the %s accountant exceeds it with noise multiplier %.3g still",
			ErrUnreachable, target.Epsilon, target.Delta, steps, a.Name(), maxCalibrated)
	}
	return sigma, err
}

// The least and the largest sampling probability that MaxSamplingProbability tries.
const (
	minSampled = 1e-12
	maxSampled = 1
)

// MaxSamplingProbability returns the largest sampling probability for which steps
// releases of event(samplingProbability) stay within target by the accountant a, as
// CalibrateNoiseMultiplier does for the noise. It is 1 if sampling is not needed, and 0 if even a
// probability of 1e-12 is too much, so that no target is out of reach.
func MaxSamplingProbability(a Accountant, event func(samplingProbability float64) Event, steps int, target Guarantee) (float64, error) {
	probability := func(x float64) float64 { return min(math.Exp(-x), maxSampled) }
	q, _, err := solve(a, event, probability, steps, target, -math.Log(0.01), 0, -math.Log(minSampled))
	return q, err
}

// solverTolerance is the relative width at which a solver over a real parameter stops.
const solverTolerance = 1e-9

// solve returns parameter(x) at the least x in [least, most] for which steps releases of
// event(parameter(x)) are within the target, or 0 and false if not even most will do. Epsilon must
// fall with x, and be about a power of e^x. The search begins at from.
func solve(a Accountant, event func(float64) Event, parameter func(x float64) float64, steps int, target Guarantee,
	from, least, most float64) (found float64, reached bool, err error) {
	switch err := ValidateTarget(target); {
	case err != nil:
		return 0, false, err
	case steps < 1:
		return 0, false, fmt.Errorf("%w: number of steps is %d, must be at least 1", ErrInvalid, steps)
	case event == nil:
		return 0, false, fmt.Errorf("%w: event is nil, want a function", ErrInvalid)
	}
	b := budget{a: a, target: target}
	excess := func(x float64) float64 { return b.excess(event(parameter(x)), steps) }
	around, root := numeric.Enclose(excess, from, least, most)
	x := least
	if b.err == nil && root == numeric.Inside {
		x = around.Narrow(excess, solverTolerance)
	}
	if b.err != nil || root == numeric.Positive {
		return 0, false, b.err
	}
	return parameter(x), true, nil
}

// MaxSteps returns the largest number of releases of event, at most limit, that stays within target
// by the accountant a: with one more the target would be exceeded, unless the result is limit. It
// is 0 if a single release is too much. Epsilon must be finite and above 0, delta in (0, 1), limit
// at least 0, and a must account under target.Relation. Epsilon is computed some 10 times.
//
// Where rounding makes the accountant's epsilon fall by a hair from one number of steps to
// the next, several numbers are the last within target; the result is one of these.
func MaxSteps(a Accountant, event Event, target Guarantee, limit int) (int, error) {
	if err := ValidateTarget(target); err != nil {
		return 0, err
	}
	if limit < 0 {
		return 0, fmt.Errorf("%w: limit of steps is %d, must be at least 0", ErrInvalid, limit)
	}
	if err := Validate(event); err != nil || limit == 0 {
		return 0, err
	}
	b := budget{a: a, target: target}
	// Epsilon is close to a power of the number of steps, so the search is for its
	// logarithm, negated for a function that falls.
	const first = 1024
	least := -math.Log(float64(limit))
	steps := func(x float64) int {
		if x <= least {
			return limit
		}
		return wholeSteps(math.Exp(-x), 1, limit)
	}
	excess := func(x float64) float64 { return b.excess(event, steps(x)) }
	around, root := numeric.Enclose(excess, max(-math.Log(first), least), least, 0)
	switch {
	case b.err != nil:
		return 0, b.err
	case root == numeric.Negative:
		return limit, nil
	case root == numeric.Positive:
		return 0, nil
	}
	n := b.edge(event, steps(around.Hi), around.AtHi, steps(around.Lo), around.AtLo)
	if b.err != nil {
		n = 0
	}
	return n, b.err
}

// edge returns the largest number of releases within the target, between fits, which is within it,
// and exceeds, which is not. ffits and fexceeds are the excess of these two numbers.
func (b *budget) edge(event Event, fits int, ffits float64, exceeds int, fexceeds float64) int {
	// Negated, for a function that falls.
	around := numeric.Bracket{Lo: -float64(exceeds), AtLo: fexceeds, Hi: -float64(fits), AtHi: ffits}
	for s := numeric.NewITP(around, 1); exceeds-fits > 1; {
		n := wholeSteps(-s.Next(around), fits+1, exceeds-1)
		f := b.excess(event, n)
		around.Cut(-float64(n), f)
		if f > 0 {
			exceeds = n
		} else {
			fits = n
		}
	}
	return fits
}

// wholeSteps returns the whole number nearest to x, held between least and most; least for NaN.
func wholeSteps(x float64, least, most int) int {
	x = math.Round(x)
	switch {
	case !(x > float64(least)):
		return least
	case x >= float64(most): // also where the conversion would overflow
		return most
	}
	return int(x)
}

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
