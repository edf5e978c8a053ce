package configs_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/configs"
	"dpsgd/internal/setting"
	"dpsgd/model"
	"dpsgd/optimizer"
	"dpsgd/release"

	"gorgonia.org/gorgonia"
)

// bottleneck is a layer of two: a narrow linear layer and an activation.
type bottleneck struct{ width int }

var bottleneckKind = setting.Kind[model.Layer]{Name: "bottleneck", Also: []string{"autoencoder"}, Doc: "A narrow linear layer and tanh.",
	New: func() model.Layer { return &bottleneck{width: 2} }}

func (*bottleneck) Kind() string { return "bottleneck" }

func (b *bottleneck) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "width", Doc: "Values that pass.", Format: setting.Integer{Min: 1, Max: 99}, Value: &b.width}}
}

func (b *bottleneck) Forward(p *model.Pass, x *gorgonia.Node) *gorgonia.Node {
	return p.Layer("tanh", model.Tanh, p.Layer("narrow", model.Linear{Out: b.width}, x))
}

func TestANewLayer(t *testing.T) {
	configs.AddLayer(t, bottleneckKind)
	documented(t, "bottleneck", "A narrow linear layer and tanh.", "Values that pass.")
	if !regexp.MustCompile(`"enum": \[[^]]*"bottleneck"`).Match(configs.Schema()) {
		t.Error("the schema does not allow the name alone")
	}
	refused(t, "model: {layers: [bottleneck: {width: 0}]}",
		"new.yaml:3:38: model.layers[0].bottleneck.width: found 0, expected a whole number from 1 to 99")
	refused(t, "model: {layers: [AutoEncoder]}", "new.yaml:3:18: model.layers[0]: found AutoEncoder, expected one of the layers "+
		strings.Join(append(model.Kinds().Names(), "bottleneck"), ", ")+" (did you mean bottleneck?)")

	c := extended(t, "model.layers=[flatten, bottleneck, residual: {body: [bottleneck: {width: 2}]}, linear: {out_features: classes}]")
	if !strings.Contains(string(c.YAML()), "    - bottleneck: {width: 2}\n") {
		t.Errorf("the layer is missing in\n%s", c.YAML())
	}
	before, after, _ := trained(t, c)
	if want := (16*2 + 2) + (2*2 + 2) + (2*3 + 3); len(after) != want {
		t.Errorf("found %d parameters, expected %d", len(after), want)
	}
	for i := range after {
		if after[i] == before[i] {
			t.Errorf("parameter %d was not trained", i)
		}
	}
}

// soft scales every gradient of norm n by C/(C^p + n^p)^(1/p): a bound without an edge.
type soft struct{ clipNorm, hardness float64 }

var softKind = setting.Kind[clip.Scheme]{Name: "soft", New: func() clip.Scheme { return &soft{hardness: 2} }}

func (soft) Name() string { return "soft" }

func (s *soft) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "hardness", Also: []string{"sharpness"}, Doc: "How sharp the bend at the clip norm is.",
		Format: setting.Number{Min: 1, Max: 10}, Value: &s.hardness}}
}

func (s soft) WithBound(clipNorm float64) clip.Policy { return soft{clipNorm, s.hardness} }

func (s soft) Factors(dst []float32, squaredNorms []float64) {
	for i, square := range squaredNorms {
		factor := s.clipNorm * (1 - 0x1p-12) / math.Pow(math.Pow(s.clipNorm, s.hardness)+math.Pow(math.Sqrt(square), s.hardness), 1/s.hardness)
		if dst[i] = float32(factor); math.IsNaN(factor) {
			dst[i] = 0
		}
	}
}

func (s soft) Bound() float64 { return s.clipNorm }
func (s soft) String() string { return fmt.Sprintf("soft: bent to below C = %v", s.clipNorm) }

func TestANewClippingPolicy(t *testing.T) {
	configs.AddPolicy(t, softKind)
	documented(t, "soft", "How sharp the bend at the clip norm is. Only with privacy.clipping soft.")
	for override, want := range map[string]string{
		"privacy.hardness=3":             "--set privacy.hardness: found without effect, expected it only with privacy.clipping soft",
		"privacy.clipping=sofd":          "--set privacy.clipping: found sofd, expected one of {privacy.clipping} (did you mean soft?)",
		"privacy.stability_constant=0.1": "--set privacy.stability_constant: found without effect, expected it only with privacy.clipping automatic",
	} {
		refused(t, "", want, override)
	}

	c := extended(t, "privacy.clipping=soft", "privacy.hardness=4", "privacy.clip_norm=0.25")
	policy, err := clip.New(c.Privacy.Clipping, c.Privacy.ClipNorm)
	if err != nil || policy != (soft{0.25, 4}) {
		t.Errorf("the policy is %+v, %v", policy, err)
	}
	if before, after, _ := trained(t, c); before[0] == after[0] {
		t.Error("training changed nothing")
	}
}

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

// harmonic falls as 1/(1 + n/half).
type harmonic struct{ half int }

var harmonicKind = setting.Kind[optimizer.Curve]{Name: "harmonic", New: func() optimizer.Curve { return &harmonic{half: 100} }}

func (*harmonic) Name() string { return "harmonic" }

func (h *harmonic) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "half", Doc: "Steps until the learning rate is halved.", Format: setting.Integer{Min: 1, Max: 1e6}, Value: &h.half}}
}

func (h *harmonic) Factor(n, _ int) float64 { return 1 / (1 + float64(n)/float64(h.half)) }

func TestANewSchedule(t *testing.T) {
	configs.AddCurve(t, harmonicKind)
	documented(t, "harmonic", "Steps until the learning rate is halved. Only with optimizer.schedule.name harmonic.")
	refused(t, "optimizer: {schedule: {name: harmonic, half: 0}}",
		"new.yaml:3:46: optimizer.schedule.half: found 0, expected a whole number from 1 to 1000000")
	refused(t, "optimizer: {schedule: {name: harmonc}}",
		"new.yaml:3:30: optimizer.schedule.name: found harmonc, expected one of {optimizer.schedule.name} (did you mean harmonic?)")

	c := extended(t, "optimizer.schedule.name=harmonic", "optimizer.schedule.half=1", "optimizer.learning_rate=6", "optimizer.schedule.warmup_steps=2")
	_, _, rates := trained(t, c)
	if want := []float64{3, 6, 6, 3}; !slices.Equal(rates, want) {
		t.Errorf("the learning rates are %v, expected %v", rates, want)
	}
}
