package optimizer

import (
	"errors"
	"fmt"
	"math"

	"dpsgd/internal/setting"
)

// Curve is the course of a learning rate after warm-up. One that can be set lists its arguments
// ([setting.Arguments]).
type Curve interface {
	// Name returns the curve's name in configs.
	Name() string
	// Factor returns the learning rate n steps after warm-up, divided by the peak: in [0, 1], and 1
	// for n = 0. The run ends with n = last; 0 <= n <= last.
	Factor(n, last int) float64
}

// Curves returns every curve that a configuration can name: to add one, write its file and add its
// kind here. An argument of the same name is the same key of a configuration, as in [UpdateRules].
func Curves() setting.Kinds[Curve] { return setting.Kinds[Curve]{constant, cosine, step, linear} }

// Schedule is a learning rate that depends on the step alone. It climbs in a straight line over the
// first WarmupSteps steps and reaches Peak with the last of them; Peak times the curve follows.
type Schedule struct {
	Curve       Curve
	Peak        float64 // the learning rate after warm-up, positive
	Steps       int     // length of the run
	WarmupSteps int     // fewer than Steps
}

// ErrSchedule is wrapped by errors about a [Schedule].
var ErrSchedule = errors.New("invalid learning-rate schedule")

// Check returns an error that wraps [ErrSchedule] when a field of the schedule or of its curve has
// a value that it cannot have.
func (s Schedule) Check() error {
	if s.Curve == nil {
		return fmt.Errorf("optimizer: schedule has no curve, expected one of %v: %w", Curves().Names(), ErrSchedule)
	}
	name := "the " + s.Curve.Name() + " schedule"
	err := setting.Check(name, s.Curve)
	switch {
	case !(s.Peak > 0) || math.IsInf(s.Peak, 1):
		err = fmt.Errorf("learning rate of %s is %v, must be positive and finite", name, s.Peak)
	case s.Steps < 1:
		err = fmt.Errorf("number of steps of %s is %d, must be at least 1", name, s.Steps)
	case s.WarmupSteps < 0:
		err = fmt.Errorf("number of warm-up steps of %s is %d, must be not negative", name, s.WarmupSteps)
	case s.WarmupSteps >= s.Steps:
		err = fmt.Errorf("number of warm-up steps of %s is %d, must be smaller than the %d steps of the run", name, s.WarmupSteps, s.Steps)
	}
	if err != nil {
		return fmt.Errorf("optimizer: %w: %w", err, ErrSchedule)
	}
	return nil
}

// WithNoise returns the schedule with the peak at which the noise of all steps leaves a standard
// deviation of target in every parameter. deviation returns the standard deviation of the noise on
// a step's gradient, after the division by the batch size; momentum is the factor of heavy-ball
// momentum, 0 without.
//
// What step s adds to the velocity moves the parameters by Σ over t ≥ s of rate(t)·momentum^(t-s)
// altogether; the noise of different steps is independent. The loss, which pulls parameters back,
// is left out.
func (s Schedule) WithNoise(target float64, deviation func(step int) float64, momentum float64) Schedule {
	s.Peak = 1
	reach, variance := 0.0, 0.0
	for step := s.Steps - 1; step >= 0; step-- {
		reach = s.LearningRate(step) + momentum*reach
		variance += math.Pow(reach*deviation(step), 2)
	}
	s.Peak = target / math.Sqrt(variance)
	return s
}

// LearningRate returns the rate of a step, counted from 0: finite and not negative. Steps after the
// last have the last one's rate, steps before the first the first one's. The schedule has passed
// [Schedule.Check].
func (s Schedule) LearningRate(step int) float64 {
	step = min(max(step, 0), s.Steps-1)
	if step < s.WarmupSteps {
		return s.Peak * float64(step+1) / float64(s.WarmupSteps)
	}
	return s.Peak * s.Curve.Factor(step-s.WarmupSteps, s.Steps-1-s.WarmupSteps)
}

// Constant is the curve that keeps the learning rate at the peak.
type Constant struct{}

var constant = setting.KindOf(func() Curve { return &Constant{} })

func (*Constant) Name() string            { return "constant" }
func (*Constant) Factor(int, int) float64 { return 1 }

// Cosine is half a cosine from the peak to the peak times FinalFactor, which the last step has
// (Loshchilov and Hutter, arXiv:1608.03983v5, equation (5), without restarts).
type Cosine struct {
	FinalFactor float64 // in [0, 1]
}

var cosine = setting.KindOf(func() Curve { return &Cosine{} })

func (*Cosine) Name() string { return "cosine" }

func (c *Cosine) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&c.FinalFactor)}
}

func (c *Cosine) Factor(n, last int) float64 {
	progress := float64(n) / float64(max(1, last))
	return c.FinalFactor + (1-c.FinalFactor)*(1+math.Cos(math.Pi*progress))/2
}

// Step multiplies the learning rate by StepFactor after every StepEvery steps behind the warm-up.
type Step struct {
	StepEvery  int     // at least 1
	StepFactor float64 // in (0, 1]
}

var step = setting.KindOf(func() Curve { return &Step{StepEvery: 1000, StepFactor: 0.1} })

func (*Step) Name() string { return "step" }

func (c *Step) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "step_every", Doc: "Steps between two drops of the learning rate.",
			Format: setting.Integer{Min: 1, Max: 1e9}, Value: &c.StepEvery},
		{Name: "step_factor", Doc: "Learning rate after a drop divided by before.",
			Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: &c.StepFactor},
	}
}

func (c *Step) Factor(n, _ int) float64 { return math.Pow(c.StepFactor, float64(n/c.StepEvery)) }

// Linear is a straight line from the peak to the peak times FinalFactor, which the last step has.
type Linear struct {
	FinalFactor float64 // in [0, 1]
}

var linear = setting.KindOf(func() Curve { return &Linear{} })

func (*Linear) Name() string { return "linear" }

func (c *Linear) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&c.FinalFactor)}
}

func (c *Linear) Factor(n, last int) float64 {
	progress := float64(n) / float64(max(1, last))
	return 1 - (1-c.FinalFactor)*progress
}

// What several curves have.

func finalFactor(value *float64) setting.Argument {
	return setting.Argument{Name: "final_factor", Doc: "The last learning rate divided by the first.",
		Format: setting.Number{Min: 0, Max: 1}, Value: value}
}
