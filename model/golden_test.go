package model_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// goldenNetworks are the networks of testdata/golden.py.
var goldenNetworks = map[string]model.Sequential{
	"convolutional": {conv(4, 3, 2, 1), model.GroupNorm{Groups: 2}, model.SiLU, maxPool(3, 2, 1), model.Residual{
		Body:     model.Sequential{conv(3, 3, 1, 1), model.GELU},
		Shortcut: model.Sequential{model.Conv2D{Out: 3, Kernel: model.Both(1), Stride: model.Both(1), NoBias: true}}},
		avgPool(2, 1, 0), model.LayerNorm{}, model.Flatten{}, model.Linear{Out: 3}},
	"pools and vectors": {
		avgPool(3, 2, 1), model.Conv2D{Out: 5, Kernel: model.Both(2), Stride: model.Both(1), NoBias: true}, model.ReLU,
		model.GlobalAvgPool2D{}, model.LayerNorm{}, model.Linear{Out: 6}, model.Tanh,
		model.Residual{Body: model.Sequential{model.Linear{Out: 6}, model.Sigmoid}}, model.Linear{Out: 3}},
	"standardised and tempered": {model.StandardisedConv2D{Conv2D: conv(4, 3, 2, 1)}, model.GroupNorm{Groups: 2},
		model.TemperedSigmoid{Scale: 1.8, InverseTemperature: 3, Offset: 0.7},
		model.StandardisedConv2D{Conv2D: model.Conv2D{Out: 3, Kernel: model.Both(2), Stride: model.Both(1), NoBias: true}},
		model.TemperedSigmoid{Scale: 2, InverseTemperature: 2, Offset: 1}, model.Flatten{}, model.Linear{Out: 3}},
	"frozen statistics": {
		model.Conv2D{Out: 4, Kernel: model.Both(3), Stride: model.Both(2), Padding: model.Both(1), NoBias: true}, model.FrozenBatchNorm{}, model.ReLU,
		model.Residual{Body: model.Sequential{conv(4, 3, 1, 1), model.FrozenBatchNorm{Eps: 1e-2}}}, model.LayerNorm{Eps: 1e-2}, model.GlobalAvgPool2D{}, model.Linear{Out: 3}},
	"dilated, grouped and rectangular": {
		model.Conv2D{Out: 6, Kernel: model.Size{Height: 3, Width: 2}, Stride: model.Size{Height: 1, Width: 2}, Padding: model.Size{Height: 2, Width: 1}, Dilation: model.Size{Height: 2, Width: 3}}, model.SiLU,
		model.MaxPool2D{Kernel: model.Size{Height: 3, Width: 2}, Stride: model.Size{Height: 2, Width: 1}, Padding: model.Both(1)},
		model.Conv2D{Out: 6, Kernel: model.Both(3), Stride: model.Both(1), Padding: model.Both(1), Groups: 6, NoBias: true},
		model.StandardisedConv2D{Conv2D: model.Conv2D{Out: 4, Kernel: model.Size{Height: 1, Width: 2}, Stride: model.Both(1), Dilation: model.Both(2), Groups: 2}}, model.Tanh,
		model.AvgPool2D{Kernel: model.Size{Height: 2, Width: 3}, Stride: model.Size{Height: 2, Width: 1}, Padding: model.Both(1)},
		model.AvgPool2D{Kernel: model.Both(2), Stride: model.Both(1), Padding: model.Both(1), OnlyInside: true}, model.Flatten{}, model.Linear{Out: 3}},
}

// golden is testdata/golden.json or sequences.json; the programs of their names say how they were
// made.
type golden struct {
	Source   string
	Networks []goldenNetwork
}

type goldenNetwork struct {
	Name       string
	Parameters []struct {
		Name      string
		Shape     []int
		Data      []float32
		Gradients [][]float64 // of each example; none of a constant
	}
	Images         []float32 // (n, C, H, W), or as the program takes them
	Labels         []int32
	Logits, Losses []float64
	After          []float64 // logits after three steps; none in golden.json
}

func readGolden(t *testing.T, name string) (g golden) {
	t.Helper()
	tiny.Check(t, json.Unmarshal(tiny.Must(os.ReadFile("testdata/"+name))(t), &g))
	return g
}

// PyTorch computes the same logits, losses and per-example gradients from the same tensors.
func TestEqualsPyTorch(t *testing.T) {
	g := readGolden(t, "golden.json")
	if len(g.Networks) != len(goldenNetworks) {
		t.Fatalf("found %d networks, expected %d", len(g.Networks), len(goldenNetworks))
	}
	in := model.Input{Height: 9, Width: 8, Channels: 2}
	for _, want := range g.Networks {
		t.Run(want.Name, func(t *testing.T) {
			want.Images = channelsLast(want.Images, in)
			want.check(t, tiny.Must(model.New(goldenNetworks[want.Name], in, 3, 1))(t), g.Source)
		})
	}
}

// check gives a model the parameters of PyTorch's network, and compares what both compute.
func (want goldenNetwork) check(t *testing.T, m *model.Model, source string) {
	t.Helper()
	var tensors []model.Tensor
	for _, p := range want.Parameters {
		tensors = append(tensors, model.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	tiny.Check(t, m.Import(tensors))
	n := len(want.Labels)
	examples := draw(m, n, 1)
	copy(examples.labels, want.Labels)
	copy(examples.images, want.Images)

	s := newStep(t, m, options{batch: n, clipNorm: 1e6})
	got := s.run(t, examples)
	if d := distance(got.logits, want.Logits); d > 1e-5*norm(want.Logits) {
		t.Errorf("logits are %v, expected %v (%s)", got.logits, want.Logits, source)
	}
	if d := distance(got.losses, want.Losses); d > 1e-5*norm(want.Losses) {
		t.Errorf("losses are %v, expected %v (%s)", got.losses, want.Losses, source)
	}
	parameters := m.Parameters()
	for _, p := range want.Parameters {
		if p.Gradients == nil {
			continue // a constant
		}
		at := parameters[slices.IndexFunc(parameters, func(q model.Parameter) bool { return q.Name == p.Name })]
		for i := range n {
			gradient := got.gradients[i][at.Offset : at.Offset+at.Size()]
			reference := toMemory(p.Shape, p.Gradients[i])
			if d := distance(gradient, reference); d > 1e-5*math.Max(norm(reference), 1e-3*norm(got.gradients[i])) {
				t.Errorf("gradient of %s for example %d is %v, expected %v (%s)", p.Name, i, gradient, reference, source)
			}
		}
	}
	if want.After == nil {
		return
	}
	for range 3 {
		for _, g := range s.run(t, examples).gradients {
			for i, v := range g {
				m.Values[i] -= 0.5 * v / float32(n)
			}
		}
	}
	if after := s.run(t, examples).logits; distance(after, want.After) > 1e-4*norm(want.After) {
		t.Errorf("after three steps logits are %v, expected %v (%s)", after, want.After, source)
	}
}

// channelsLast reorders images from (n, C, H, W) to (n, H, W, C).
func channelsLast(images []float32, in model.Input) []float32 {
	positions := in.Height * in.Width
	out := make([]float32, len(images))
	for i, v := range images {
		image, c, p := i/(in.Channels*positions), i/positions%in.Channels, i%positions
		out[(image*positions+p)*in.Channels+c] = v
	}
	return out
}
