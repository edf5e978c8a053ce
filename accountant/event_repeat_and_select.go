package accountant

import (
	"encoding/json"
	"fmt"
	"math"
)

// RepeatAndSelect is the choice of the best among several runs of Event, by a score that is part of
// each run's release: the number of runs is random and only the best run is released (Papernot,
// Steinke 2022, arXiv:2110.03620v2). A fixed number of runs has no such guarantee.
//
// The number of runs has a truncated negative binomial distribution of the given Shape
// (Definition 1; 0 is logarithmic, 1 geometric) or, with Shape = +Inf, a Poisson
// distribution. Its mean is Mean.
type RepeatAndSelect struct {
	Event Event
	Mean  float64 // at least 1, finite
	Shape float64 // at least 0, may be +Inf
}

func (e RepeatAndSelect) String() string {
	return fmt.Sprintf("RepeatAndSelect(mean=%v, shape=%v, %v)", e.Mean, e.Shape, e.Event)
}

func (e RepeatAndSelect) simplest() (Event, error) { return e, nil }

// seenBy takes Event as the group sees it: the theorem is about any two datasets.
func (e RepeatAndSelect) seenBy(size int) (Event, error) {
	part, err := e.Event.seenBy(size)
	return RepeatAndSelect{part, e.Mean, e.Shape}, err
}

func (e *RepeatAndSelect) parameters() []parameter {
	shape := (*runsShape)(&e.Shape)
	return []parameter{
		inside(&e.Event),
		within("mean", &e.Mean, runsMean),
		{"shape", shape, shape.check},
	}
}

func runsMean(_ string, mean float64) error {
	if !(mean >= 1) || math.IsInf(mean, 1) {
		return fmt.Errorf("%w: mean number of runs is %v, must be finite and at least 1", ErrInvalid, mean)
	}
	return nil
}

// runsShape is the Shape of RepeatAndSelect, with its JSON form: a number, or "poisson" for +Inf,
// which JSON has no number for.
type runsShape float64

const shapePoisson = `"poisson"`

func (s runsShape) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(s), 1) {
		return []byte(shapePoisson), nil
	}
	return json.Marshal(float64(s))
}

func (s *runsShape) check(int) error {
	if !(*s >= 0) {
		return fmt.Errorf("%w: shape of the number of runs is %v, must be at least 0", ErrInvalid, float64(*s))
	}
	return nil
}

func (s *runsShape) decode(o object, key string, _ int) error {
	if string(o.Get(key)) == shapePoisson {
		*s = runsShape(math.Inf(1))
		return nil
	}
	x, err := o.float64(key)
	*s = runsShape(x)
	return err
}
