package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/setting"
	"dpsgd/internal/tiny"
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
	for _, net := range slices.Concat(networks, sequenceNetworks) {
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

var row = model.Input{Channels: 7}

// A row passes through flatten unchanged, and into linear with or without it: the network computes
// the same, bit for bit, as for a picture of one pixel with as many channels.
func TestRowsAreVectors(t *testing.T) {
	tail := model.Sequential{model.Linear{Out: 5}, model.LayerNorm{}, model.Tanh, model.Residual{Body: model.Sequential{model.Linear{Out: 5}, model.ReLU}}, model.Linear{Out: classes}}
	flat := append(model.Sequential{model.Flatten{}}, tail...)
	logits := func(network model.Sequential, in model.Input) []float32 {
		m := tiny.Must(model.New(network, in, classes, 1))(t)
		b := graph.NewBuilder(nil)
		n := tiny.Must(m.Training(b, 3))(t)
		e := tiny.Must(b.Compile(n.Logits, n.Valid))(t)
		values := normals(3*7, 4)
		values[20] = float32(math.Inf(1)) // the last example is dropped
		copy(e.Values(n.Images).Float32, values)
		for i := range e.Values(n.Mask).Float32 {
			e.Values(n.Mask).Float32[i] = 1
		}
		e.RunAll()
		if !slices.Equal(e.Values(n.Valid).Float32, []float32{1, 1, 0}) {
			t.Errorf("valid is %v, expected the last row out", e.Values(n.Valid).Float32)
		}
		return slices.Clone(e.Values(n.Logits).Float32)
	}
	want := logits(flat, model.Input{Height: 1, Width: 1, Channels: 7})
	for name, network := range map[string]model.Sequential{"flatten": flat, "no flatten": tail, "flatten twice": append(model.Sequential{model.Flatten{}}, flat...)} {
		if got := logits(network, row); !slices.Equal(got, want) {
			t.Errorf("%s: logits are %v, expected %v", name, got, want)
		}
	}
}

func TestLayersOfPicturesRefuseRows(t *testing.T) {
	for _, l := range []model.Layer{
		conv(2, 1, 1, 0), maxPool(1, 1, 0), avgPool(1, 1, 0),
		model.GlobalAvgPool2D{}, model.GroupNorm{Groups: 1},
	} {
		_, err := model.New(model.Sequential{l, model.Flatten{}, model.Linear{Out: classes}}, row, classes, 1)
		want := "layer 0: its input has shape [7] per example, expected an image (height, width, channels); the examples are rows of numbers, not pictures"
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found error %v, expected one line that says %q", l.Kind(), err, want)
		}
	}
}
