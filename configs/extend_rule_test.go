package configs_test

import (
	"math"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/setting"
	"dpsgd/optimizer"
	"dpsgd/release"
)

// signum moves every parameter by the learning rate, against the sign of the mean of gradients.
type signum struct{ keep float64 }

var signumKind = setting.Kind[optimizer.UpdateRule]{Name: "signum", New: func() optimizer.UpdateRule { return &signum{keep: 0.9} }}

func (*signum) Name() string { return "signum" }

func (r *signum) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "keep", Also: []string{"retain"}, Doc: "How much of the mean is kept.", Format: setting.Number{Max: 1, OpenMax: true}, Value: &r.keep}}
}

func (*signum) Slots() []optimizer.Slot { return []optimizer.Slot{{Name: "mean"}} }

func (r *signum) Move(p []float32, g release.Noisy, perBatch, rate float64, _ int, memory [][]float32) {
	sums := g.Values()
	for i, mean := range memory[0] {
		memory[0][i] = float32(r.keep*float64(mean) + (1-r.keep)*sums[i]*perBatch)
		p[i] -= float32(math.Copysign(rate, float64(memory[0][i])))
	}
}

func TestANewUpdateRule(t *testing.T) {
	configs.AddRule(t, signumKind)
	documented(t, "signum", "How much of the mean is kept. Only with optimizer.name signum.",
		"Pulls the weights toward 0. Only with optimizer.name sgd, ")
	refused(t, "optimizer: {name: signum, keep: 1}", "new.yaml:3:33: optimizer.keep: found 1, expected a number of at least 0 and less than 1")
	refused(t, "optimizer: {retain: 1}", "new.yaml:3:13: optimizer.retain: found an unknown key, expected one of {optimizer} (did you mean keep?)")
	refused(t, "optimizer: {keep: 0.5}", "new.yaml:3:19: optimizer.keep: found without effect, expected it only with optimizer.name signum")
	refused(t, "optimizer: {name: signun}", "new.yaml:3:19: optimizer.name: found signun, expected one of {optimizer.name} (did you mean signum?)")

	c := extended(t, "optimizer.name=signum", "optimizer.keep=0.5", "optimizer.learning_rate=0.25", "training.steps=1")
	before, after, _ := trained(t, c)
	for i := range after {
		if moved := math.Abs(float64(after[i] - before[i])); math.Abs(moved-0.25) > 1e-6 {
			t.Errorf("parameter %d moved by %g, expected 0.25", i, moved)
		}
	}
}
