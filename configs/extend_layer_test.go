package configs_test

import (
	"regexp"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/setting"
	"dpsgd/model"

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
