package release

import (
	"fmt"

	"dpsgd/accountant"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
)

// NoiseSchedule says how the noise multiplier changes over the steps of a run, relative to the
// first step. A schedule that can be configured lists its arguments ([setting.Arguments]).
type NoiseSchedule interface {
	// Name is its name in configs.
	Name() string
	// Factor returns the multiplier of a step, counted from 0, divided by that of step 0: positive,
	// and 1 for step 0. Steps after the last have the last one's. It takes few values: each is an
	// event of its own, and an accountant takes time for each.
	Factor(step, steps int) float64
}

// NoiseSchedules is every noise schedule that a configuration can name: to add one, write it and
// add its kind here.
func NoiseSchedules() setting.Kinds[NoiseSchedule] {
	return setting.Kinds[NoiseSchedule]{
		{Name: ConstantNoise{}.Name(), New: func() NoiseSchedule { return &ConstantNoise{} }},
		{Name: LinearNoise{}.Name(), New: func() NoiseSchedule { return &LinearNoise{FinalFactor: 0.5} }},
	}
}

// ConstantNoise is the same noise in every step.
type ConstantNoise struct{}

func (ConstantNoise) Name() string            { return "constant" }
func (ConstantNoise) Factor(int, int) float64 { return 1 }

// LinearNoise goes from the first noise multiplier to FinalFactor times it, in [NoiseStages] equal
// steps: less noise when gradients have become short, at the price of more before.
type LinearNoise struct {
	FinalFactor float64 // positive
}

// NoiseStages counts the noise multipliers of a run with [LinearNoise].
const NoiseStages = 16

func (LinearNoise) Name() string { return "linear" }

func (s *LinearNoise) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "noise_final_factor", Doc: "The last noise multiplier divided by the first.",
		Format: setting.Number{Min: 0.01, Max: 100}, Value: &s.FinalFactor}}
}

func (s LinearNoise) Factor(step, steps int) float64 {
	stage := min(step, steps-1) * NoiseStages / steps
	return 1 + (s.FinalFactor-1)*float64(stage)/(NoiseStages-1)
}

// NewScheduled returns the Gaussian mechanism whose noise multiplier follows a schedule over so
// many steps and begins with first. Its arguments are checked as in [NewGaussian]; a step whose
// multiplier is out of range is refused when it comes.
func NewScheduled(s NoiseSchedule, first float64, steps int, pool *kernel.Pool) (*Gaussian, error) {
	if err := setting.Check("the noise schedule "+s.Name(), s); err != nil {
		return nil, fmt.Errorf("release: %w: %w", err, ErrPlan)
	}
	m, err := NewGaussian(first, pool)
	if _, constant := s.(*ConstantNoise); err != nil || constant {
		return m, err
	}
	m.schedule = func(step int) float64 { return s.Factor(step, steps) }
	m.course = fmt.Sprintf(" in the first step, %v in the last of %d, %s between them", m.at(steps-1), steps, s.Name())
	return m, nil
}

// Constant is an optional method of a [Mechanism]: whether all its releases have the event of the
// first. Then a schedule of millions of releases takes no longer than one of two.
type Constant interface{ Constant() bool }

// Constant reports whether the mechanism has no noise schedule.
func (m *Gaussian) Constant() bool { return m.schedule == nil }

// Schedule describes the first so many releases of the plan.
func (p Plan) Schedule(releases int) (*accountant.Ledger, error) {
	l := new(accountant.Ledger)
	if c, known := p.Mechanism.(Constant); known && c.Constant() {
		return l, l.Add(p.Event(0), max(0, releases))
	}
	for step := 0; step < releases; {
		event, end := p.Event(step), step+1
		for end < releases && p.Event(end) == event {
			end++
		}
		if err := l.Add(event, end-step); err != nil {
			return nil, err
		}
		step = end
	}
	return l, nil
}
