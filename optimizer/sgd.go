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

func (*SGD) Name() string { return "sgd" }

func (r *SGD) Arguments() []setting.Argument {
	return []setting.Argument{weightDecay(&r.WeightDecay)}
}

func (*SGD) HeavyBall() (float64, bool) { return 0, true }

// Slots implements [UpdateRule]: it remembers nothing.
func (*SGD) Slots() []Slot { return nil }

func (r *SGD) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *SGD) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, _ [][]float32) {
	kernel.Descend(p, g, perBatch, r.WeightDecay, rate)
}
