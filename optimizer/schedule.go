package optimizer

import (
	"errors"
	"fmt"
	"math"
)

// Schedule is a learning rate that depends on the step alone.
type Schedule interface {
	// LearningRate returns the rate of a step, counted from 0: finite and not negative. Steps after
	// the last have the rate of the last one, steps before the first that of the first.
	LearningRate(step int) float64
}

// ScheduleSpec describes a [Schedule]. The rate climbs in a straight line over the first
// WarmupSteps steps and reaches LearningRate with the last of them; the named curve follows.
//
//	constant   LearningRate
//	cosine     half a cosine from LearningRate to LearningRate·FinalFactor, which the last of Steps has
//	step       LearningRate·StepFactor^k after k times StepEvery steps, warm-up not counted
type ScheduleSpec struct {
	Name         string  // constant, cosine or step
	LearningRate float64 // the peak, positive
	Steps        int     // length of the run; cosine needs it, 0 if unknown
	WarmupSteps  int     // fewer than Steps
	FinalFactor  float64 // cosine: in [0, 1]
	StepEvery    int     // step: at least 1
	StepFactor   float64 // step: in (0, 1]
}

// ErrSchedule is wrapped by errors about a [ScheduleSpec].
var ErrSchedule = errors.New("invalid learning-rate schedule")

// ScheduleNames returns the names of the schedules.
func ScheduleNames() []string { return []string{"constant", "cosine", "step"} }

// NewSchedule returns the schedule that the spec describes. The error wraps [ErrSchedule].
// Fields of other schedules are not read.
func NewSchedule(spec ScheduleSpec) (Schedule, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	return schedule{spec}, nil
}

func (s ScheduleSpec) check() error {
	var problem error // the first one
	check := func(ok bool, field string, value any, want string) {
		if !ok && problem == nil {
			problem = fmt.Errorf("optimizer: %s of the %s schedule is %v, must be %s: %w", field, s.Name, value, want, ErrSchedule)
		}
	}
	check(s.LearningRate > 0 && !math.IsInf(s.LearningRate, 1), "learning rate", s.LearningRate, "positive and finite")
	check(s.Steps >= 0, "number of steps", s.Steps, "not negative")
	check(s.WarmupSteps >= 0, "number of warm-up steps", s.WarmupSteps, "not negative")
	check(s.Steps <= 0 || s.WarmupSteps < s.Steps, "number of warm-up steps", s.WarmupSteps,
		fmt.Sprintf("smaller than the %d steps of the run", s.Steps))
	switch s.Name {
	case "constant":
	case "cosine":
		check(s.Steps != 0, "number of steps", s.Steps, "known")
		check(s.FinalFactor >= 0 && s.FinalFactor <= 1, "final factor", s.FinalFactor, "in [0, 1]")
	case "step":
		check(s.StepEvery >= 1, "step length", s.StepEvery, "at least 1")
		check(s.StepFactor > 0 && s.StepFactor <= 1, "step factor", s.StepFactor, "in (0, 1]")
	default:
		return fmt.Errorf("optimizer: schedule is %q, expected one of %v: %w", s.Name, ScheduleNames(), ErrSchedule)
	}
	return problem
}

// schedule is a spec that was checked.
type schedule struct{ spec ScheduleSpec }

// LearningRate implements [Schedule].
func (s schedule) LearningRate(step int) float64 {
	spec := s.spec
	step = max(step, 0)
	if spec.Steps > 0 {
		step = min(step, spec.Steps-1)
	}
	if step < spec.WarmupSteps {
		return spec.LearningRate * float64(step+1) / float64(spec.WarmupSteps)
	}
	return spec.LearningRate * s.factor(step-spec.WarmupSteps)
}

// factor is the named curve, n steps after warm-up.
func (s schedule) factor(n int) float64 {
	switch spec := s.spec; spec.Name {
	case "cosine":
		// Loshchilov and Hutter, arXiv:1608.03983v5, equation (5), without restarts.
		progress := float64(n) / float64(max(1, spec.Steps-spec.WarmupSteps-1))
		return spec.FinalFactor + (1-spec.FinalFactor)*(1+math.Cos(math.Pi*progress))/2
	case "step":
		return math.Pow(spec.StepFactor, float64(n/spec.StepEvery))
	default:
		return 1
	}
}
