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
	// Name returns the name of the schedule in configs.
	Name() string
	// Factor returns the noise multiplier of a step, counted from 0, divided by that of step 0:
	// positive, and 1 for step 0. The run has so many steps; later ones have the factor of the last.
	// Over a run it takes few values: each makes an event of its own, and an accountant takes time
	// for each.
	Factor(step, steps int) float64
}

// NoiseSchedules returns every noise schedule that a configuration can name: to add one, write it
// and add its kind here.
func NoiseSchedules() setting.Kinds[NoiseSchedule] {
	return setting.Kinds[NoiseSchedule]{
		{Name: ConstantNoise{}.Name(), New: func() NoiseSchedule { return &ConstantNoise{} }},
		{Name: LinearNoise{}.Name(), New: func() NoiseSchedule { return &LinearNoise{FinalFactor: 0.5} }},
	}
}

// ConstantNoise keeps the noise multiplier the same in every step.
type ConstantNoise struct{}

func (ConstantNoise) Name() string            { return "constant" }
func (ConstantNoise) Factor(int, int) float64 { return 1 }

// LinearNoise cuts a run into [NoiseStages] stages of about equal length, each with one noise
// multiplier: from the first stage to the last, in equal differences, it moves to FinalFactor times
// what it was. With a factor below 1, late steps have less noise, when gradients have become short;
// for the same ε, early steps then need more.
type LinearNoise struct {
	FinalFactor float64 // the last noise multiplier divided by the first; positive
}

// NoiseStages is the number of stages of [LinearNoise]. A run of fewer steps leaves some of them
// out, also the last one.
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

// NewScheduled returns the Gaussian mechanism whose noise multiplier follows schedule s over so
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

// Constant is an optional interface of a [Mechanism]. Its method reports whether all releases have
// the event of the first one: then [Plan.Schedule] takes no longer for millions of releases than
// for one.
type Constant interface{ Constant() bool }

// Constant reports whether all steps have the same noise multiplier by construction.
func (m *Gaussian) Constant() bool { return m.schedule == nil }

// Schedule returns a ledger with the events of the first so many releases of the plan.
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
