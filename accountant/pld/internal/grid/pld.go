package grid

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/accountant/internal/pair"
)

// ErrTooFine says that the interval of the options needs a larger transform than
// the package makes.
var ErrTooFine = errors.New("interval too fine")

// Part is a release and how often it is made.
type Part struct {
	Pair  pair.Pair
	Count int
}

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

// Interval holds the true answer: Lower ≤ truth ≤ Upper.
type Interval struct{ Lower, Upper float64 }

// Epsilon returns bounds of the least ε ≥ 0 for which the composition of the parts,
// in their direction, is (ε, δ)-private, 0 < δ < 1. It is +Inf if δ is at most the
// chance of an infinite loss.
func Epsilon(parts []Part, delta float64, o Options) (Interval, error) {
	if !(delta > 0 && delta < 1) {
		return Interval{}, fmt.Errorf("grid: delta is %v, must be above 0 and below 1", delta)
	}
	if err := check(parts, o); err != nil {
		return Interval{}, err
	}
	infinite := infinite(parts)
	switch {
	case infinite*(1-roundingOfMass) >= delta:
		return Interval{math.Inf(1), math.Inf(1)}, nil
	case infinite*(1+roundingOfMass) >= delta: // rounding decides
		return Interval{0, math.Inf(1)}, nil
	}
	if harmless(parts) {
		return Interval{}, nil
	}
	if p, ok := single(parts); ok {
		low, up := pair.Epsilon(p, delta)
		return Interval{low, up}, nil
	}
	return gridEpsilon(parts, delta, infinite, o)
}

func gridEpsilon(parts []Part, delta, infinite float64, o Options) (Interval, error) {
	s := newSketch(parts, delta-infinite, o.tolerance())
	p := s.planEpsilon(delta-infinite, o)
	pessimistic, optimistic, err := p.compose(parts)
	if err != nil {
		return Interval{}, err
	}
	return Interval{
		Lower: max(0, optimistic.epsilon(delta, 0, lower)-p.slack),
		Upper: max(0, pessimistic.epsilon(delta, -p.slack, upper)+p.slack),
	}, nil
}

// Delta returns bounds of the least δ for which the composition of the parts, in
// their direction, is (ε, δ)-private, ε ≥ 0.
func Delta(parts []Part, epsilon float64, o Options) (Interval, error) {
	if !(epsilon >= 0) {
		return Interval{}, fmt.Errorf("grid: epsilon is %v, must be at least 0", epsilon)
	}
	if err := check(parts, o); err != nil {
		return Interval{}, err
	}
	if infinite := infinite(parts); harmless(parts) || math.IsInf(epsilon, 1) {
		return Interval{infinite, infinite}, nil
	}
	if p, ok := single(parts); ok {
		low, up := pair.Delta(p, epsilon)
		return Interval{low, up}, nil
	}
	return gridDelta(parts, epsilon, o)
}

func gridDelta(parts []Part, epsilon float64, o Options) (Interval, error) {
	p := newSketchAt(parts, epsilon, o.tolerance()).planDelta(epsilon, o)
	pessimistic, optimistic, err := p.compose(parts)
	if err != nil {
		return Interval{}, err
	}
	return Interval{
		Lower: optimistic.delta(epsilon+p.slack, lower),
		Upper: min(pessimistic.delta(epsilon-p.slack, upper), 1),
	}, nil
}

func check(parts []Part, o Options) error {
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

// roundingOfMass bounds the relative error of infinite.
const roundingOfMass = 1e-12

// infinite returns the chance that the loss of any release is +Inf.
func infinite(parts []Part) float64 {
	log := 0.0
	for _, p := range parts {
		log += float64(p.Count) * math.Log1p(-p.Pair.Infinite())
	}
	return -math.Expm1(log)
}

// harmless says that no finite loss is above 0: δ(ε) is the infinite part for ε ≥ 0.
func harmless(parts []Part) bool {
	for _, p := range parts {
		if above, _ := p.Pair.Above(0); p.Count > 0 && above > p.Pair.Infinite() {
			return false
		}
	}
	return true
}
