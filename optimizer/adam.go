package optimizer

import (
	"math"

	"dpsgd/internal/setting"
	"dpsgd/release"
)

// Adam is Adam (Kingma and Ba, arXiv:1412.6980v9, Algorithm 1) or, with Decoupled, AdamW
// (Loshchilov and Hutter, arXiv:1711.05101v3, Algorithm 2), both with PyTorch's weight decay:
//
//	p = p·(1 - rate·weightDecay)               (adamw)
//	g = gradient/batch                         (adamw)
//	g = gradient/batch + weightDecay·p         (adam)
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	p = p - rate · m/(1-β₁ᵗ) / (sqrt(v/(1-β₂ᵗ)) + ε)
//
// The second moment includes the square of the noise; [AdamBC] subtracts it.
type Adam struct {
	Beta1, Beta2 float64 // β₁ and β₂, in [0, 1)
	Epsilon      float64 // ε, positive; not a privacy budget
	WeightDecay  float64 // not negative
	Decoupled    bool
}

var (
	adam  = setting.KindOf(func() UpdateRule { return &Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8} })
	adamW = setting.KindOf(func() UpdateRule { return &Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decoupled: true} })
)

func (r *Adam) Name() string {
	if r.Decoupled {
		return "adamw"
	}
	return "adam"
}

func (r *Adam) Arguments() []setting.Argument {
	return []setting.Argument{
		beta1(&r.Beta1), beta2(&r.Beta2),
		{Name: "epsilon", Doc: "Added to the denominator; not the privacy budget.",
			Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: &r.Epsilon},
		weightDecay(&r.WeightDecay),
	}
}

func (*Adam) Slots() []Slot { return momentSlots() }

func (r *Adam) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	r.MovePlain(p, g.Values(), perBatch, rate, t, memory)
}

func (r *Adam) MovePlain(p []float32, g []float64, perBatch, rate float64, t int, memory [][]float32) {
	first, second := memory[0], memory[1]
	rate1 := rate / (1 - math.Pow(r.Beta1, float64(t)))
	unbias2 := 1 / (1 - math.Pow(r.Beta2, float64(t)))
	coupled, shrink := r.WeightDecay, 1.0
	if r.Decoupled {
		coupled, shrink = 0, 1-rate*r.WeightDecay
	}
	for i, sum := range g {
		x := float64(p[i])
		gradient := sum*perBatch + coupled*x
		m := r.Beta1*float64(first[i]) + (1-r.Beta1)*gradient
		v := r.Beta2*float64(second[i]) + (1-r.Beta2)*gradient*gradient
		first[i], second[i] = float32(m), float32(v)
		p[i] = float32(shrink*x - rate1*m/(math.Sqrt(v*unbias2)+r.Epsilon))
	}
}

// AdamBC is DP-AdamBC (Tang, Shpilevskiy, Lécuyer, arXiv:2312.14334, Algorithm 1): Adam that
// subtracts from its second moment the variance Φ that the noise adds, so that the size of
// gradients scales the steps again, also where noise is larger. Weight decay is AdamW's:
//
//	p = p·(1 - rate·weightDecay)
//	g = gradient/batch
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	Φ = (deviation of the noise/batch)²
//	p = p - rate · m/(1-β₁ᵗ) / sqrt(max(v/(1-β₂ᵗ) - Φ, γ′))
//
// Φ uses the noise of the present step, which is the bias of v if every step has the same noise.
type AdamBC struct {
	Beta1, Beta2      float64 // β₁ and β₂, in [0, 1)
	SecondMomentFloor float64 // γ′, positive
	WeightDecay       float64 // not negative
}

var adamBC = setting.KindOf(func() UpdateRule { return &AdamBC{Beta1: 0.9, Beta2: 0.999, SecondMomentFloor: 5e-8} })

func (*AdamBC) Name() string { return "adambc" }

func (r *AdamBC) Arguments() []setting.Argument {
	return []setting.Argument{
		beta1(&r.Beta1), beta2(&r.Beta2),
		{Name: "second_moment_floor", Doc: "The least that is left of the mean of squared gradients when the variance of the noise is subtracted.",
			Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: &r.SecondMomentFloor},
		weightDecay(&r.WeightDecay),
	}
}

func (*AdamBC) Slots() []Slot { return momentSlots() }

func (r *AdamBC) Move(p []float32, g release.Noisy, perBatch, rate float64, t int, memory [][]float32) {
	first, second := memory[0], memory[1]
	rate1 := rate / (1 - math.Pow(r.Beta1, float64(t)))
	unbias2 := 1 / (1 - math.Pow(r.Beta2, float64(t)))
	shrink := 1 - rate*r.WeightDecay
	variance := math.Pow(g.Deviation()*perBatch, 2)
	for i, noisy := range g.Values() {
		gradient := noisy * perBatch
		m := r.Beta1*float64(first[i]) + (1-r.Beta1)*gradient
		v := r.Beta2*float64(second[i]) + (1-r.Beta2)*gradient*gradient
		first[i], second[i] = float32(m), float32(v)
		p[i] = float32(shrink*float64(p[i]) - rate1*m/math.Sqrt(math.Max(v*unbias2-variance, r.SecondMomentFloor)))
	}
}
