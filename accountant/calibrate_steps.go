package accountant

import (
	"fmt"
	"math"

	"dpsgd/accountant/internal/numeric"
)

// MaxSteps returns the largest number of releases of event, at most limit, that
// stays within target by the accountant a: with one more the target would be
// exceeded, unless the result is limit. It is 0 if a single release is too much.
// Epsilon must be finite and above 0, delta in (0, 1), limit at least 0, and
// target.Relation the one that a accounts for. Epsilon is computed some 10 times.
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
