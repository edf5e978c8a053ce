package optimizer

import "math"

// adam is Adam (Kingma and Ba, arXiv:1412.6980v9, Algorithm 1) or, with decoupled, AdamW
// (Loshchilov and Hutter, arXiv:1711.05101v3, Algorithm 2), both with PyTorch's weight decay:
//
//	p = p·(1 - rate·weightDecay)               (adamw)
//	g = gradient/batch                         (adamw)
//	g = gradient/batch + weightDecay·p         (adam)
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	p = p - rate · m/(1-β₁ᵗ) / (sqrt(v/(1-β₂ᵗ)) + ε)
//
// The second moment is that of a noisy gradient, the square of the noise included. No correction is
// made.
type adam struct {
	beta1, beta2, epsilon, weightDecay float64
	decoupled                          bool
}

func (adam) slots() []slot { return []slot{{name: "exp_avg"}, {name: "exp_avg_sq", notNegative: true}} }

func (r adam) move(p []float32, g []float64, perBatch, rate float64, t int, memory [][]float32) {
	first, second := memory[0], memory[1]
	rate1 := rate / (1 - math.Pow(r.beta1, float64(t)))
	unbias2 := 1 / (1 - math.Pow(r.beta2, float64(t)))
	coupled, shrink := r.weightDecay, 1.0
	if r.decoupled {
		coupled, shrink = 0, 1-rate*r.weightDecay
	}
	for i, noisy := range g {
		x := float64(p[i])
		gradient := noisy*perBatch + coupled*x
		m := r.beta1*float64(first[i]) + (1-r.beta1)*gradient
		v := r.beta2*float64(second[i]) + (1-r.beta2)*gradient*gradient
		first[i], second[i] = float32(m), float32(v)
		p[i] = float32(shrink*x - rate1*m/(math.Sqrt(v*unbias2)+r.epsilon))
	}
}
