package optimizer

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/internal/setting"
)

// Schedule is a learning rate that depends on the step alone.
type Schedule interface {
	// LearningRate returns the rate of a step, counted from 0: finite and not negative. Steps after
	// the last have the rate of the last one, steps before the first that of the first.
	LearningRate(step int) float64
}

// Curve is the course of a learning rate after warm-up. One that can be set lists its arguments
// ([setting.Arguments]).
type Curve interface {
	// Name is the curve's name in configs.
	Name() string
	// Factor is what the peak is multiplied by n steps after warm-up: in [0, 1], and 1 for n = 0.
	// The run ends with n = last; 0 <= n <= last.
	Factor(n, last int) float64
}

// Curves is every schedule that a configuration can name: to add one, write its file and add its
// kind here. An argument of the same name is the same key of a configuration, as in [Rules].
func Curves() setting.Kinds[Curve] {
	return setting.Kinds[Curve]{constant, cosine, step}
}

// curveKind is a row of [Curves]. Its name is what the curve itself says.
func curveKind(fresh func() Curve) setting.Kind[Curve] {
	return setting.Kind[Curve]{Name: fresh().Name(), New: fresh}
}

// ScheduleSpec describes a [Schedule]. The rate climbs in a straight line over the first
// WarmupSteps steps and reaches LearningRate with the last of them; LearningRate times the curve
// follows.
type ScheduleSpec struct {
	Curve        Curve
	LearningRate float64 // the peak, positive
	Steps        int     // length of the run
	WarmupSteps  int     // fewer than Steps
}

// ErrSchedule is wrapped by errors about a [ScheduleSpec].
var ErrSchedule = errors.New("invalid learning-rate schedule")

// NewSchedule returns the schedule that the spec describes. The error wraps [ErrSchedule].
func NewSchedule(spec ScheduleSpec) (Schedule, error) {
	if spec.Curve == nil {
		return nil, fmt.Errorf("optimizer: schedule has no curve, expected one of %v: %w", Curves().Names(), ErrSchedule)
	}
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("optimizer: %w: %w", err, ErrSchedule)
	}
	return schedule{spec}, nil
}

func (s ScheduleSpec) check() error {
	name := "the " + s.Curve.Name() + " schedule"
	switch {
	case !(s.LearningRate > 0) || math.IsInf(s.LearningRate, 1):
		return fmt.Errorf("learning rate of %s is %v, must be positive and finite", name, s.LearningRate)
	case s.Steps < 1:
		return fmt.Errorf("number of steps of %s is %d, must be at least 1", name, s.Steps)
	case s.WarmupSteps < 0:
		return fmt.Errorf("number of warm-up steps of %s is %d, must be not negative", name, s.WarmupSteps)
	case s.WarmupSteps >= s.Steps:
		return fmt.Errorf("number of warm-up steps of %s is %d, must be smaller than the %d steps of the run", name, s.WarmupSteps, s.Steps)
	}
	return setting.Check(name, s.Curve)
}

// schedule is a spec that was checked.
type schedule struct{ spec ScheduleSpec }

// LearningRate implements [Schedule].
func (s schedule) LearningRate(step int) float64 {
	spec := s.spec
	step = min(max(step, 0), spec.Steps-1)
	if step < spec.WarmupSteps {
		return spec.LearningRate * float64(step+1) / float64(spec.WarmupSteps)
	}
	return spec.LearningRate * spec.Curve.Factor(step-spec.WarmupSteps, spec.Steps-1-spec.WarmupSteps)
}
