package accountant

import "fmt"

// MaxSteps returns the largest number of releases of event, at most limit, that
// stays within target by the accountant a: with one more the target would be
// exceeded, unless the result is limit. It is 0 if a single release is too much.
// Epsilon must be finite and above 0, delta in (0, 1), limit at least 0, and
// target.Relation the one that a accounts for.
func MaxSteps(a Accountant, event Event, target Guarantee, limit int) (int, error) {
	if err := validateTarget(target); err != nil {
		return 0, err
	}
	if limit < 0 {
		return 0, fmt.Errorf("%w: limit of steps is %d, must be at least 0", ErrInvalid, limit)
	}
	within := func(steps int) (bool, error) {
		var l Ledger
		if err := l.Add(event, steps); err != nil {
			return false, err
		}
		g, err := a.Guarantee(&l, target.Delta)
		if err != nil {
			return false, err
		}
		return g.Within(target), sameRelation(g, target)
	}
	// Invariant: fits is within target (0 steps are), and exceeds is not or is past
	// the limit. Epsilon does not fall with more steps, so halving finds the edge.
	fits, exceeds := 0, limit
	if ok, err := within(limit); err != nil {
		return 0, err
	} else if ok {
		return limit, nil
	}
	for exceeds-fits > 1 {
		middle := fits + (exceeds-fits)/2
		ok, err := within(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			fits = middle
		} else {
			exceeds = middle
		}
	}
	return fits, nil
}
