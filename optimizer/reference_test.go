package optimizer

import (
	"math"
	"testing"
)

// reference is one coordinate under an update rule, all in float64, written out from the pages of
// torch.optim (SGD, Adam and AdamW, PyTorch 2) in their own order of operations and independent of
// the code under test.
type reference struct {
	rule         Rule
	p, buf, m, v float64
	step         int
	started      bool // PyTorch starts the buffer with the first gradient instead of with zero
}

func (r *reference) apply(g, lr float64) {
	r.step++
	switch r.rule.Name {
	case "sgd", "momentum", "nesterov":
		if r.rule.WeightDecay != 0 {
			g = g + r.rule.WeightDecay*r.p
		}
		if mu := r.rule.Momentum; r.rule.Name != "sgd" {
			if r.started {
				r.buf = mu*r.buf + g
			} else {
				r.buf, r.started = g, true
			}
			if r.rule.Name == "nesterov" {
				g = g + mu*r.buf
			} else {
				g = r.buf
			}
		}
		r.p = r.p - lr*g
	case "adam", "adamw":
		if r.rule.Name == "adamw" {
			r.p = r.p - lr*r.rule.WeightDecay*r.p
		} else {
			g = g + r.rule.WeightDecay*r.p
		}
		r.m = r.rule.Beta1*r.m + (1-r.rule.Beta1)*g
		r.v = r.rule.Beta2*r.v + (1-r.rule.Beta2)*g*g
		correction1 := 1 - math.Pow(r.rule.Beta1, float64(r.step))
		correction2 := 1 - math.Pow(r.rule.Beta2, float64(r.step))
		denominator := math.Sqrt(r.v)/math.Sqrt(correction2) + r.rule.Epsilon
		r.p = r.p - lr/correction1*r.m/denominator
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
				references[i] = reference{rule: rule, p: float64(p[i])}
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

// Two steps by hand, from p = 1 with gradients 2 and -1 (sums 4 and -2 over a batch of 2) and rate
// 0.1.
func TestUpdatesByHand(t *testing.T) {
	for _, c := range []struct {
		rule   Rule
		want   [2]float64
		reason string
	}{
		{Rule{Name: "sgd"}, [2]float64{0.8, 0.9}, "1 - 0.1·2, 0.8 + 0.1·1"},
		{Rule{Name: "sgd", WeightDecay: 0.5}, [2]float64{0.75, 0.8125}, "1 - 0.1·(2+0.5), 0.75 - 0.1·(-1+0.375)"},
		{Rule{Name: "momentum", Momentum: 0.5}, [2]float64{0.8, 0.8}, "v = 2, then 1-1 = 0"},
		{Rule{Name: "nesterov", Momentum: 0.5}, [2]float64{0.7, 0.8}, "2+0.5·2 = 3, then -1+0.5·0 = -1"},
		{Rule{Name: "adam", Beta1: 0.5, Beta2: 0.5, Epsilon: 1},
			[2]float64{1 - 0.1*2/3, 1 - 0.1*2/3}, "m̂ = 2, v̂ = 4; then m = 0.5-0.5 = 0"},
		{Rule{Name: "adamw", Beta1: 0.5, Beta2: 0.5, Epsilon: 1, WeightDecay: 0.5},
			[2]float64{0.95 - 0.1*2/3, 0.95 * (0.95 - 0.1*2/3)}, "p shrinks to 0.95·p first"},
	} {
		u, p := newUpdate(t, c.rule, 1), []float32{1}
		for i, sum := range []float32{4, -2} {
			apply(t, u, p, bare(t, sum), 2, 0.1)
			if math.Abs(float64(p[0])-c.want[i]) > 1e-7 {
				t.Errorf("%+v: p is %.8g after step %d, want %.8g (%s)", c.rule, p[0], i+1, c.want[i], c.reason)
			}
		}
	}
}
