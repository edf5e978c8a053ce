package optimizer

import "dpsgd/internal/kernel"

// sgd is stochastic gradient descent (PyTorch's torch.optim.SGD without momentum):
//
//	g = gradient/batch + weightDecay·p
//	p = p - rate·g
type sgd struct {
	weightDecay float64
}

func (sgd) slots() []slot { return nil }

func (r sgd) move(p []float32, g []float64, perBatch, rate float64, _ int, _ [][]float32) {
	kernel.Descend(p, g, perBatch, r.weightDecay, rate)
}

// momentum is SGD with heavy-ball momentum µ or, with nesterov, Nesterov's, both in PyTorch's form
// (torch.optim.SGD, dampening 0), where the rate multiplies the velocity instead of entering it:
//
//	g = gradient/batch + weightDecay·p
//	v = µ·v + g
//	p = p - rate·v            (momentum)
//	p = p - rate·(g + µ·v)    (nesterov)
type momentum struct {
	momentum, weightDecay float64
	nesterov              bool
}

func (momentum) slots() []slot { return []slot{{name: "momentum_buffer"}} }

func (r momentum) move(p []float32, g []float64, perBatch, rate float64, _ int, memory [][]float32) {
	step := kernel.Momentum{PerBatch: perBatch, Decay: r.weightDecay, Mu: r.momentum, Rate: rate, Nesterov: r.nesterov}
	step.Step(p, memory[0], g)
}
