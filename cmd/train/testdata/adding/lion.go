package optimizer

import (
	"math"

	"dpsgd/internal/setting"
	"dpsgd/release"
)

// Lion moves every parameter by the rate against the sign of two means of gradients (Chen et al.
// 2023, arXiv:2302.06675).
type Lion struct{ Beta1, Beta2, WeightDecay float64 }

var lion = setting.KindOf(func() UpdateRule { return &Lion{Beta1: 0.9, Beta2: 0.999} })

// Name is "lion".
func (*Lion) Name() string { return "lion" }

// Arguments are what a configuration can set.
func (r *Lion) Arguments() []setting.Argument {
	return []setting.Argument{beta1(&r.Beta1), beta2(&r.Beta2), weightDecay(&r.WeightDecay)}
}

// Slots implements [UpdateRule].
func (*Lion) Slots() []Slot { return []Slot{{Name: "exp_avg"}} }

// Move implements [UpdateRule].
func (r *Lion) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

// MovePlain implements [PlainRule].
func (r *Lion) MovePlain(p []float32, g []float64, perBatch, rate float64, _ int, memory [][]float32) {
	for i, mean := range memory[0] {
		gradient := g[i] * perBatch
		direction := r.Beta1*float64(mean) + (1-r.Beta1)*gradient
		p[i] -= float32(rate * (math.Copysign(1, direction) + r.WeightDecay*float64(p[i])))
		memory[0][i] = float32(r.Beta2*float64(mean) + (1-r.Beta2)*gradient)
	}
}
