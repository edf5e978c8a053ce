package clip

import (
	"math"

	"dpsgd/internal/setting"
)

// Schedule says how the clip norm changes over the steps of a run: a public function of the step
// alone. A schedule that can be configured lists its arguments ([setting.Arguments]).
type Schedule interface {
	// Name is its name in configs.
	Name() string
	// Factor returns the clip norm of a step, counted from 0, divided by that of step 0: positive,
	// and 1 for step 0. Steps after the last have the last one's.
	Factor(step, steps int) float64
}

// Schedules is every clip schedule that a configuration can name: to add one, write it and add its
// kind here. Those that end elsewhere than they begin have one argument for it.
func Schedules() setting.Kinds[Schedule] {
	return setting.Kinds[Schedule]{
		setting.KindOf(func() Schedule { return &ConstantNorm{} }),
		setting.KindOf(func() Schedule { return &LinearNorm{FinalFactor: 0.5} }),
		setting.KindOf(func() Schedule { return &CosineNorm{FinalFactor: 0.5} }),
	}
}

// ConstantNorm is the same clip norm in every step.
type ConstantNorm struct{}

func (ConstantNorm) Name() string { return "constant" }

func (ConstantNorm) Factor(int, int) float64 { return 1 }

// LinearNorm is a straight line from the clip norm to FinalFactor times it, which the last step
// has.
type LinearNorm struct {
	FinalFactor float64 // positive
}

func (LinearNorm) Name() string { return "linear" }

func (s *LinearNorm) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&s.FinalFactor)}
}

func (s LinearNorm) Factor(step, steps int) float64 {
	return 1 + (s.FinalFactor-1)*progress(step, steps)
}

// CosineNorm is half a cosine from the clip norm to FinalFactor times it, which the last step has.
type CosineNorm struct {
	FinalFactor float64 // positive
}

func (CosineNorm) Name() string { return "cosine" }

func (s *CosineNorm) Arguments() []setting.Argument {
	return []setting.Argument{finalFactor(&s.FinalFactor)}
}

func (s CosineNorm) Factor(step, steps int) float64 {
	return s.FinalFactor + (1-s.FinalFactor)*(1+math.Cos(math.Pi*progress(step, steps)))/2
}

// progress is 0 in the first step and 1 in the last and later ones.
func progress(step, steps int) float64 {
	return float64(min(step, steps-1)) / float64(max(1, steps-1))
}

func finalFactor(value *float64) setting.Argument {
	return setting.Argument{Name: "clip_final_factor", Doc: "The last clip norm divided by the first.",
		Format: setting.Number{Min: 0.01, Max: 100}, Value: value}
}
