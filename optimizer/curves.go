package optimizer

import (
	"math"

	"dpsgd/internal/setting"
)

// Constant is the curve that keeps the learning rate at the peak.
type Constant struct{}

var constant = setting.KindOf(func() Curve { return &Constant{} })

func (*Constant) Name() string { return "constant" }

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
