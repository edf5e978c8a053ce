package model_test

import (
	"math"
	"strings"
	"testing"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// Every kind has a name of its own, which is its layer's, a sentence, and at least one row in the
// contract suite.
func TestEveryKindIsTested(t *testing.T) {
	tested := map[string]bool{}
	var note func(layers model.Sequential)
	note = func(layers model.Sequential) {
		for _, l := range layers {
			tested[l.Kind()] = true
			for _, a := range setting.Arguments(l) {
				if inner, ok := a.Value.(*model.Sequential); ok {
					note(*inner)
				}
			}
		}
	}
	for _, net := range networks {
		note(net.layers)
	}
	seen := map[string]bool{}
	for _, k := range model.Kinds() {
		if k.New().Kind() != k.Name || seen[k.Name] || !strings.HasSuffix(k.Doc, ".") {
			t.Errorf("kind %q makes a %q, is described as %q, and comes twice: %t", k.Name, k.New().Kind(), k.Doc, seen[k.Name])
		}
		seen[k.Name] = true
		if !tested[k.Name] {
			t.Errorf("%s is in no row of the contract suite", k.Name)
		}
		for _, a := range setting.Arguments(k.New()) {
			if !strings.HasSuffix(a.Doc, ".") || strings.Contains(a.Doc, "\n") {
				t.Errorf("%s of %s is described as %q, expected a sentence in one line", a.Name, k.Name, a.Doc)
			}
		}
	}
}

// The word classes is as many outputs as the model has classes.
func TestNumClasses(t *testing.T) {
	m, err := model.New(model.Sequential{model.Flatten{}, model.Linear{Out: model.NumClasses}}, input, classes, 1)
	if want := (input.Height*input.Width*input.Channels + 1) * classes; err != nil || len(m.Values) != want {
		t.Errorf("found %v, expected a model of %d parameters", err, want)
	}
}

// By default the layer is the hyperbolic tangent: its network has the sums of a tanh network.
func TestTemperedSigmoidIsTanhByDefault(t *testing.T) {
	with := func(activation model.Layer) result {
		m := newModel(t, model.Sequential{model.Flatten{}, model.Linear{Out: 7}, activation, model.Linear{Out: classes}})
		return newStep(t, m, options{batch: 4, clipNorm: 0.5}).run(t, draw(m, 4, 3))
	}
	kinds := model.Kinds()
	kind, _ := kinds.Named("tempered_sigmoid")
	found, want := with(kind.New()), with(model.Tanh)
	for i, v := range found.logits {
		if math.Abs(float64(v-want.logits[i])) > 1e-6 {
			t.Errorf("logit %d is %v, expected %v", i, v, want.logits[i])
		}
	}
	if d := distance(found.sum, want.sum); d > 1e-5*norm(want.sum) {
		t.Errorf("the sum is off that of tanh by %.2g of its norm", d/norm(want.sum))
	}
}
