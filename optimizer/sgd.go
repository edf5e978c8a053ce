package optimizer

// sgd is stochastic gradient descent (PyTorch's torch.optim.SGD without momentum):
//
//	g = gradient/batch + weightDecay·p
//	p = p - rate·g
type sgd struct {
	weightDecay float64
}

func (sgd) slots() []slot { return nil }

func (r sgd) move(p []float32, g []float64, batch, rate float64, _ int, _ [][]float32) {
	for i, noisy := range g {
		x := float64(p[i])
		p[i] = float32(x - rate*(noisy/batch+r.weightDecay*x))
	}
}

// momentum is SGD with heavy-ball momentum µ or, with nesterov, Nesterov's, both in PyTorch's form (torch.optim.SGD,
// dampening 0), where the rate multiplies the velocity instead of entering it:
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

func (r momentum) move(p []float32, g []float64, batch, rate float64, _ int, memory [][]float32) {
	velocity := memory[0]
	for i, noisy := range g {
		x := float64(p[i])
		gradient := noisy/batch + r.weightDecay*x
		v := r.momentum*float64(velocity[i]) + gradient
		velocity[i] = float32(v)
		if r.nesterov {
			v = gradient + r.momentum*v
		}
		p[i] = float32(x - rate*v)
	}
}
