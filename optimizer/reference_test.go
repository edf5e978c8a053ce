package optimizer

import (
	"math"
	"testing"
)

// reference is one coordinate under an update rule, all in float64, written out from the pages of
// torch.optim (SGD, Adam and AdamW, PyTorch 2), and from Algorithm 1 of arXiv:2312.14334 (AdamBC),
// in their own order of operations and independent of the code under test.
type reference struct {
	noise        float64 // standard deviation of what is added to the mean gradient
	rule         UpdateRule
	p, buf, m, v float64
	step         int
	started      bool // PyTorch starts the buffer with the first gradient instead of with zero
}

func (r *reference) apply(g, lr float64) {
	r.step++
	switch rule := r.rule.(type) {
	case *SGD:
		r.p = r.p - lr*(g+rule.WeightDecay*r.p)
	case *Momentum:
		if rule.WeightDecay != 0 {
			g = g + rule.WeightDecay*r.p
		}
		if r.started {
			r.buf = rule.Momentum*r.buf + g
		} else {
			r.buf, r.started = g, true
		}
		if rule.Nesterov {
			g = g + rule.Momentum*r.buf
		} else {
			g = r.buf
		}
		r.p = r.p - lr*g
	case *Adam:
		if rule.Decoupled {
			r.p = r.p - lr*rule.WeightDecay*r.p
		} else {
			g = g + rule.WeightDecay*r.p
		}
		r.m = rule.Beta1*r.m + (1-rule.Beta1)*g
		r.v = rule.Beta2*r.v + (1-rule.Beta2)*g*g
		correction1 := 1 - math.Pow(rule.Beta1, float64(r.step))
		correction2 := 1 - math.Pow(rule.Beta2, float64(r.step))
		denominator := math.Sqrt(r.v)/math.Sqrt(correction2) + rule.Epsilon
		r.p = r.p - lr/correction1*r.m/denominator
	case *AdamBC:
		r.p = r.p - lr*rule.WeightDecay*r.p
		r.m = rule.Beta1*r.m + (1-rule.Beta1)*g
		r.v = rule.Beta2*r.v + (1-rule.Beta2)*g*g
		mean := r.m / (1 - math.Pow(rule.Beta1, float64(r.step)))
		square := r.v/(1-math.Pow(rule.Beta2, float64(r.step))) - r.noise*r.noise
		r.p = r.p - lr*mean/math.Sqrt(math.Max(square, rule.SecondMomentFloor))
	}
}

// 500 steps of noisy gradients with a rate that changes stay within float32 rounding of the
// reference.
func TestUpdatesFollowTheirFormulas(t *testing.T) {
	const steps, dim, batch = 500, 40, 3.0
	for name, rule := range rules() {
		t.Run(name, func(t *testing.T) {
			u, p := newUpdate(t, rule, dim), startingPoint(dim, 61)
			references := make([]reference, dim)
			for i := range references {
				references[i] = reference{noise: 1 / batch, rule: rule, p: float64(p[i])}
			}
			for step := range steps {
				rate := 0.05 * (1 + math.Sin(float64(step)/20))
				gradient := noise(t, dim, 1, uint64(step))
				g := values(t, gradient, dim)
				apply(t, u, p, gradient, batch, rate)
				for i := range references {
					references[i].apply(g[i]/batch, rate)
					// Each step rounds p to float32, a relative 2^-24, and adds to what came
					// before.
					if got, want := float64(p[i]), references[i].p; math.Abs(got-want) > 3e-5*(1+math.Abs(want)) {
						t.Fatalf("step %d, parameter %d: %.9g, reference %.9g", step, i, got, want)
					}
				}
			}
		})
	}
}
