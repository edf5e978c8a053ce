package kernel

import "math"

// The updates of parameters: plain gradient descent, and with momentum.

// Momentum is one step of gradient descent with momentum, PyTorch's torch.optim.SGD, for a gradient
// that is a sum still to be divided. In float64 between float32 parameters p and velocities v:
//
//	g = sum·PerBatch + Decay·p
//	v = Mu·v + g
//	p = p - Rate·v             or, with Nesterov, p - Rate·(g + Mu·v)
type Momentum struct {
	PerBatch, Decay, Mu, Rate float64
	Nesterov                  bool
}

// Step applies the formula to every element of p. v and sum are as long as p; it panics when they
// are shorter.
func (m Momentum) Step(p, v []float32, sum []float64) {
	active.momentum(p, v[:len(p)], sum[:len(p)], m)
}

// Descend is one step of plain gradient descent: p -= rate·(sum·perBatch + decay·p), in float64. It
// panics when sum is shorter than p.
func Descend(p []float32, sum []float64, perBatch, decay, rate float64) {
	active.descend(p, sum[:len(p)], perBatch, decay, rate)
}

func portableMomentum(p, v []float32, sum []float64, m Momentum) {
	for i, s := range sum {
		x := float64(p[i])
		g := math.FMA(s, m.PerBatch, float64(m.Decay*x))
		velocity := math.FMA(float64(v[i]), m.Mu, g)
		v[i] = float32(velocity)
		if m.Nesterov {
			velocity = math.FMA(velocity, m.Mu, g)
		}
		p[i] = float32(math.FMA(-m.Rate, velocity, x))
	}
}

func portableDescend(p []float32, sum []float64, perBatch, decay, rate float64) {
	for i, s := range sum {
		x := float64(p[i])
		g := math.FMA(s, perBatch, float64(decay*x))
		p[i] = float32(math.FMA(-rate, g, x))
	}
}
