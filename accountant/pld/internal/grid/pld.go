package grid

import (
	"fmt"
	"math"

	"dpsgd/accountant"
	"dpsgd/accountant/internal/pair"
)

// Options of a computation. The zero value is a good choice.
type Options struct {
	// Interval is the spacing of the grid of losses. 0 chooses it so that either bound
	// is within about 1e-3 of the truth, relative to the answer.
	Interval float64

	// Tolerance bounds the mass that truncations leave out or count twice, relative
	// to the δ of the question. 0 is 1e-5.
	Tolerance float64
}

func (o Options) tolerance() float64 {
	if o.Tolerance > 0 {
		return o.Tolerance
	}
	return 1e-5
}

// Epsilon returns bounds of the least ε ≥ 0 for which the composition of the parts,
// in their direction, is (ε, δ)-private, 0 < δ < 1. It is +Inf if δ is at most the
// chance of an infinite loss. The error matches accountant.ErrUncertified where the interval of the
// options needs a larger transform than the package makes.
func Epsilon(parts []pair.Part, delta float64, o Options) (accountant.Interval, error) {
	if !(delta > 0 && delta < 1) {
		return accountant.Interval{}, fmt.Errorf("grid: delta is %v, must be above 0 and below 1", delta)
	}
	if err := check(parts, o); err != nil {
		return accountant.Interval{}, err
	}
	left, least := pair.WithoutInfinite(parts, delta)
	switch {
	case !(left > 0):
		return accountant.Interval{Lower: least, Upper: math.Inf(1)}, nil
	case harmless(parts):
		return accountant.Interval{}, nil
	}
	p := newSketch(parts, left, o.tolerance()).planEpsilon(left, o)
	pessimistic, optimistic, err := p.compose(parts)
	if err != nil {
		return accountant.Interval{}, err
	}
	return accountant.Interval{
		Lower: max(0, optimistic.epsilon(delta, 0, lower)-p.slack),
		Upper: max(0, pessimistic.epsilon(delta, -p.slack, upper)+p.slack),
	}, nil
}

// Delta returns bounds of the least δ for which the composition of the parts, in
// their direction, is (ε, δ)-private, ε ≥ 0.
func Delta(parts []pair.Part, epsilon float64, o Options) (accountant.Interval, error) {
	if !(epsilon >= 0) {
		return accountant.Interval{}, fmt.Errorf("grid: epsilon is %v, must be at least 0", epsilon)
	}
	if err := check(parts, o); err != nil {
		return accountant.Interval{}, err
	}
	if harmless(parts) || math.IsInf(epsilon, 1) {
		infinite := pair.Infinite(parts)
		return accountant.Interval{Lower: infinite, Upper: infinite}, nil
	}
	p := newSketchAt(parts, epsilon, o.tolerance()).planDelta(epsilon, o)
	pessimistic, optimistic, err := p.compose(parts)
	if err != nil {
		return accountant.Interval{}, err
	}
	return accountant.Interval{
		Lower: optimistic.delta(epsilon+p.slack, lower),
		Upper: min(pessimistic.delta(epsilon-p.slack, upper), 1),
	}, nil
}

func check(parts []pair.Part, o Options) error {
	for i, p := range parts {
		if p.Count < 0 {
			return fmt.Errorf("grid: count of part %d is %d, must be at least 0", i, p.Count)
		}
	}
	if o.Interval < 0 || math.IsNaN(o.Interval) || math.IsInf(o.Interval, 1) {
		return fmt.Errorf("grid: interval is %v, must be positive, or 0 to have it chosen", o.Interval)
	}
	return nil
}

// harmless says that no finite loss is above 0: δ(ε) is the infinite part for ε ≥ 0.
func harmless(parts []pair.Part) bool {
	for _, p := range parts {
		if above, _ := p.Pair.Above(0); p.Count > 0 && above > p.Pair.Infinite() {
			return false
		}
	}
	return true
}
