package optimizer

import (
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/release"
)

// SGD is stochastic gradient descent (PyTorch's torch.optim.SGD without momentum):
//
//	g = gradient/batch + weightDecay·p
//	p = p - rate·g
type SGD struct {
	WeightDecay float64 // not negative
}

var sgd = setting.KindOf(func() UpdateRule { return &SGD{} })

func (*SGD) Name() string                    { return "sgd" }
func (r *SGD) Arguments() []setting.Argument { return []setting.Argument{weightDecay(&r.WeightDecay)} }
func (*SGD) HeavyBall() (float64, bool)      { return 0, true }

// Slots implements [UpdateRule]: it remembers nothing.
func (*SGD) Slots() []Slot { return nil }

func (r *SGD) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *SGD) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, _ [][]float32) {
	kernel.Descend(p, g, perBatch, r.WeightDecay, rate)
}

// Momentum is SGD with heavy-ball momentum µ or, with Nesterov, Nesterov's, both in PyTorch's form
// (torch.optim.SGD, dampening 0), where the rate multiplies the velocity instead of entering it:
//
//	g = gradient/batch + weightDecay·p
//	v = µ·v + g
//	p = p - rate·v            (momentum)
//	p = p - rate·(g + µ·v)    (nesterov)
type Momentum struct {
	Momentum    float64 // µ, in [0, 1)
	WeightDecay float64 // not negative
	Nesterov    bool
}

var (
	momentum = setting.KindOf(func() UpdateRule { return &Momentum{Momentum: 0.9} })
	nesterov = setting.KindOf(func() UpdateRule { return &Momentum{Momentum: 0.9, Nesterov: true} })
)

func (r *Momentum) Name() string {
	if r.Nesterov {
		return "nesterov"
	}
	return "momentum"
}

func (r *Momentum) Arguments() []setting.Argument {
	return []setting.Argument{decay("momentum", "How much of the last update is kept.", &r.Momentum), weightDecay(&r.WeightDecay)}
}

func (r *Momentum) HeavyBall() (float64, bool) { return r.Momentum, !r.Nesterov }
func (*Momentum) Slots() []Slot                { return []Slot{{Name: "momentum_buffer"}} }

func (r *Momentum) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *Momentum) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, memory [][]float32) {
	step := kernel.Momentum{PerBatch: perBatch, Decay: r.WeightDecay, Mu: r.Momentum, Rate: rate, Nesterov: r.Nesterov}
	step.Step(p, memory[0], g)
}
