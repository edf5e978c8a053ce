package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/model"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// custom is a layer for images with a gain for each channel, that announces its parameters as it is
// told to.
type custom struct {
	announce func(p *model.Pass, rule perexample.ScaleWeight, x, z *gorgonia.Node, gains ...*gorgonia.Node)
}

func (custom) Kind() string { return "custom" }

func (l custom) Forward(p *model.Pass, x *gorgonia.Node) *gorgonia.Node {
	ones := func(values []float32, _ *random.Public) {
		for i := range values {
			values[i] = 1
		}
	}
	s := x.Shape()
	channels := s[3]
	first := p.Parameter("first", ones, []int{channels}, nil)
	second := p.Parameter("second", ones, []int{channels}, nil)
	// z = (first + second)∘x: both get the gradients of a gain.
	z := p.Apply(graph.Operation{
		Name: "custom", Type: tensor.Float32, Shape: s,
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = v * (in[1].Float32[i%channels] + in[2].Float32[i%channels])
			}
		},
		Gradient: func([]*gorgonia.Node, *gorgonia.Node, *gorgonia.Node) []*gorgonia.Node {
			return make([]*gorgonia.Node, 3)
		},
	}, x, first, second)
	l.announce(p, perexample.ScaleWeight{Positions: s[1] * s[2], Channels: channels}, x, z, first, second)
	return z
}

// around puts a layer at place 0, with a head that fits.
func around(l model.Layer) model.Sequential {
	return model.Sequential{l, model.Flatten{}, model.Linear{Out: classes}}
}

// A parameter that private training could not clip stops the network before it runs, by name.
func TestParametersWithoutOneRuleAreRefused(t *testing.T) {
	type pass = model.Pass
	type node = gorgonia.Node
	for _, test := range []struct {
		name     string
		announce func(p *pass, rule perexample.ScaleWeight, x, z *node, gains ...*node)
		noRule   bool
		want     []string
	}{
		{"no rule", func(p *pass, rule perexample.ScaleWeight, x, z *node, gains ...*node) {
			p.Use(gains[0], rule, x, z)
		}, true, []string{"model: parameter 0.second: perexample: parameter without a per-example rule"}},
		{"no rules", func(*pass, perexample.ScaleWeight, *node, *node, ...*node) {}, true,
			[]string{"model: parameter 0.first: ", "model: parameter 0.second: "}},
		{"used twice", func(p *pass, rule perexample.ScaleWeight, x, z *node, gains ...*node) {
			p.Use(gains[0], rule, x, z)
			p.Use(gains[1], rule, x, z)
			p.Use(gains[0], rule, x, z)
		}, false, []string{"model: parameter 0.first is used 2 times, expected once, or as a weight for an output each time"}},
		{"a shift of two outputs", func(p *pass, rule perexample.ScaleWeight, x, z *node, gains ...*node) {
			shift := perexample.Bias(rule)
			p.Use(gains[0], shift, x, z)
			p.Use(gains[1], rule, x, z)
			p.Use(gains[0], shift, x, x)
		}, false, []string{"model: parameter 0.first is used 2 times, expected once"}},
		{"rule of another size", func(p *pass, rule perexample.ScaleWeight, x, z *node, gains ...*node) {
			p.Use(gains[0], rule, x, z)
			p.Use(gains[1], perexample.ScaleWeight{Positions: 1, Channels: rule.Positions * rule.Channels}, x, z)
		}, false, []string{"model: parameter 0.second has 2 values, its per-example rule is for 60"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := model.New(around(custom{test.announce}), input, classes, 1)
			if err == nil {
				t.Fatal("the network was accepted")
			}
			if errors.Is(err, perexample.ErrNoRule) != test.noRule {
				t.Errorf("error %q: being ErrNoRule is %v, expected %v", err, !test.noRule, test.noRule)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("error has %d lines, expected %d: %q", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d of the error is %q, expected it to start with %q", i, lines[i], want)
				}
			}
		})
	}
}

// Uses follow the parameters' order in memory, in whatever order a layer announces them.
func TestUsesAreInTheOrderOfParameters(t *testing.T) {
	backwards := custom{func(p *model.Pass, rule perexample.ScaleWeight, x, z *gorgonia.Node, gains ...*gorgonia.Node) {
		p.Use(gains[1], rule, x, z)
		p.Use(gains[0], rule, x, z)
	}}
	m := tiny.Must(model.New(around(backwards), input, classes, 1))(t)
	n := tiny.Must(m.Training(graph.NewBuilder(nil), 2))(t)
	offset := 0
	for i, p := range m.Parameters() {
		if n.Uses[i].Parameter != p.Name || n.Uses[i].Rule.Size() != p.Size() {
			t.Errorf("use %d is of %s with %d values, expected %s with %d", i, n.Uses[i].Parameter, n.Uses[i].Rule.Size(), p.Name, p.Size())
		}
		if p.Offset != offset {
			t.Errorf("parameter %s begins at %d, expected %d", p.Name, p.Offset, offset)
		}
		offset += p.Size()
	}
	if offset != len(m.Values) {
		t.Errorf("parameters have %d values, the model %d", offset, len(m.Values))
	}
}

// Layers that do not fit are refused with one line that names the place and what was expected.
func TestLayersThatDoNotFitAreRefused(t *testing.T) {
	convWith := func(change func(l *model.Conv2D)) model.Sequential {
		l := conv(4, 3, 1, 0)
		change(&l)
		return around(l)
	}
	for _, test := range []struct {
		name    string
		network model.Sequential
		want    string
	}{
		{"linear on an image", model.Sequential{model.Linear{Out: classes}}, "layer 0: its input has shape [6 5 2] per example, expected a vector or a sequence; put flatten, global_avg_pool2d or patch_embedding in front"},
		{"linear without outputs", model.Sequential{model.Flatten{}, model.Linear{}}, "layer 1: it has 0 outputs, expected at least 1"},
		{"convolution behind flatten", model.Sequential{model.Flatten{}, conv(1, 1, 1, 0)}, "layer 1: its input has shape [60] per example, expected an image"},
		{"kernel too large", convWith(func(l *model.Conv2D) { l.Kernel = model.Both(6) }), "layer 0: its kernel of 6×6 with padding 0 does not fit an input of 6×5"},
		{"stride of 0", convWith(func(l *model.Conv2D) { l.Stride = model.Both(0) }), "layer 0: it has 4 filters of size 3 with stride 0, padding 0, dilation 1 and groups 1, expected positive numbers"},
		{"no kernel", convWith(func(l *model.Conv2D) { l.Kernel = model.Both(0) }), "layer 0: it has 4 filters of size 0"},
		{"negative padding", convWith(func(l *model.Conv2D) { l.Padding = model.Both(-1) }), "layer 0: it has 4 filters of size 3 with stride 1, padding -1"},
		{"filters of one value", model.Sequential{conv(1, 1, 1, 0), model.StandardisedConv2D{Conv2D: conv(2, 1, 1, 0)}},
			"layer 1: its filters have 1 value, which standardisation makes 0, expected at least 2"},
		{"kernel too wide", convWith(func(l *model.Conv2D) { l.Kernel = model.Size{Height: 1, Width: 8} }), "layer 0: its kernel of 1×8 with padding 0 does not fit an input of 6×5"},
		{"half a dilation", convWith(func(l *model.Conv2D) { l.Dilation.Height = 2 }), "layer 0: it has 4 filters of size 3 with stride 1, padding 0, dilation 2×0 and groups 1, expected positive numbers"},
		{"dilation too wide", convWith(func(l *model.Conv2D) { l.Dilation, l.Padding = model.Both(3), model.Size{Height: 1} }),
			"layer 0: its kernel of 3×3, which dilation 3 spreads over 7×7 pixels, with padding 1×0 does not fit an input of 6×5"},
		{"negative groups", convWith(func(l *model.Conv2D) { l.Groups = -2 }), "dilation 1 and groups -2, expected positive numbers"},
		{"groups of half a channel", convWith(func(l *model.Conv2D) { l.Groups = 4 }), "layer 0: 4 groups do not divide its input's 2 channels"},
		{"groups of half a filter", convWith(func(l *model.Conv2D) { l.Groups, l.Out = 2, 3 }), "layer 0: 2 groups do not divide its 3 filters"},
		{"no filters", convWith(func(l *model.Conv2D) { l.Out = -4 }), "layer 0: it has -4 filters"},
		{"pool too large", around(maxPool(6, 1, 0)), "layer 0: its window of 6×6 with padding 0 does not fit an input of 6×5"},
		{"pool of padding", around(avgPool(3, 1, 2)), "layer 0: its window of 3×3 has a padding of 2, expected at most half of the window"},
		{"pool of padding on two sides", around(model.MaxPool2D{Kernel: model.Size{Height: 4, Width: 3}, Stride: model.Both(1), Padding: model.Both(2)}), "layer 0: its window of 4×3 has a padding of 2, expected at most half of the window"},
		{"pool stride of 0", around(model.MaxPool2D{Kernel: model.Both(2)}), "layer 0: its window has size 2 with stride 0 and padding 0, expected positive numbers"},
		{"pool behind flatten", model.Sequential{model.Flatten{}, maxPool(1, 1, 0)}, "layer 1: its input has shape [60] per example"},
		{"global pool behind flatten", model.Sequential{model.Flatten{}, model.GlobalAvgPool2D{}}, "layer 1: its input has shape [60]"},
		{"flatten twice", model.Sequential{model.Flatten{}, model.Flatten{}, model.Linear{Out: classes}}, "layer 1: its input has shape [60]"},
		{"groups that do not divide", around(model.GroupNorm{Groups: 3}), "layer 0: 3 groups do not divide its input's 2 channels"},
		{"no groups", around(model.GroupNorm{}), "layer 0: 0 groups do not divide its input's 2 channels"},
		{"flat sigmoid", around(model.TemperedSigmoid{Scale: 1, Offset: 1}), "layer 0: inverse_temperature of tempered_sigmoid is 0, expected a number greater than 0 and at most 100"},
		{"leaky downwards", around(model.LeakyReLU{Slope: -1}), "layer 0: slope of leaky_relu is -1, expected"},
		{"elu of nothing", around(model.ELU{}), "layer 0: alpha of elu is 0, expected"},
		{"dropout of everything", around(model.Dropout{P: 1}), "layer 0: its probability is 1, expected at least 0 and below 1"},
		{"deep in a residual", model.Sequential{conv(2, 1, 1, 0),
			model.Residual{Body: model.Sequential{model.ReLU, model.GroupNorm{Groups: 5}}}}, "layer 1.body.1: 5 groups do not divide"},
		{"in a shortcut", model.Sequential{model.Residual{Body: model.Sequential{model.ReLU}, Shortcut: model.Sequential{model.Linear{Out: 2}}}}, "layer 0.shortcut.0: its input has shape"},
		{"branches of two shapes", around(model.Residual{Body: model.Sequential{conv(4, 1, 1, 0)}}),
			"layer 0: its body gives shape [6 5 4] per example and its shortcut [6 5 2], expected the same"},
		{"too few classes", model.Sequential{model.Flatten{}, model.Linear{Out: 2}}, "the last layer gives shape [2] per example, expected 3 values, one for each class"},
		{"a block at the end", model.Sequential{model.Flatten{}, model.Residual{Body: model.Sequential{model.ReLU}}}, "layer 1: the last layer gives shape [60]"},
		{"an image at the end", model.Sequential{conv(classes, 1, 1, 0)}, "the last layer gives shape [6 5 3] per example, expected 3 values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := model.New(test.network, input, classes, 1)
			if !errors.Is(err, graph.ErrDeclaration) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, expected one with %q", err, test.want)
			}
			if !strings.HasPrefix(err.Error(), "model: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %q, expected one line that starts with the package", err)
			}
		})
	}
}

func TestNetworksWithoutSenseAreRefused(t *testing.T) {
	for _, test := range []struct {
		name    string
		layers  model.Sequential
		input   model.Input
		classes int
		want    string
	}{
		{"nothing to train", model.Sequential{model.Flatten{}}, model.Input{Height: 1, Width: 1, Channels: classes}, classes, "the network has no parameters"},
		{"tokens without vectors", model.Sequential{model.Linear{Out: classes}}, words, classes, "layer 0: it is a linear and its input is tokens, expected an embedding in front of it"},
		{"no layers", nil, input, classes, "the last layer gives shape [6 5 2]"},
		{"no channels", around(model.ReLU), model.Input{Height: 2, Width: 2}, classes, "leaf images has shape [1 2 2 0], expected positive sizes"},
		{"no classes", around(model.ReLU), input, 0, "the last layer gives shape [3] per example, expected 0 values"},
	} {
		if _, err := model.New(test.layers, test.input, test.classes, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, expected one with %q", test.name, err, test.want)
		}
	}
	// An empty Poisson batch never reaches a graph; a graph for one is refused.
	if _, err := newModel(t, networks[0].layers).Training(graph.NewBuilder(nil), 0); err == nil || !strings.Contains(err.Error(), "leaf images has shape [0 6 5 2]") {
		t.Errorf("batch of 0: error is %v, expected one about the shape of the images", err)
	}
}

// Layers describes containers before what they hold, with shapes, parameters and multiply-adds of
// one example.
func TestLayers(t *testing.T) {
	m := newModel(t, model.Sequential{
		model.Residual{Body: model.Sequential{conv(3, 3, 1, 1), model.GroupNorm{Groups: 3}},
			Shortcut: model.Sequential{model.Conv2D{Out: 3, Kernel: model.Both(1), Stride: model.Both(1), NoBias: true}}},
		model.Flatten{}, model.Linear{Out: classes}})
	var got []string
	for _, l := range m.Layers() {
		got = append(got, fmt.Sprint(l.Name, " ", l.Kind, " ", l.Output, " ", l.Parameters, " ", l.MultiplyAdds))
	}
	want := []string{
		"0 residual [6 5 3] 69 0", // 57 + 6 + 6, below
		"0.body.0 conv2d [6 5 3] 57 1620",
		"0.body.1 group_norm [6 5 3] 6 0",
		"0.shortcut.0 conv2d [6 5 3] 6 180",
		"1 flatten [90] 0 0",
		"2 linear [3] 273 270",
	}
	if !slices.Equal(got, want) {
		t.Errorf("layers are\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if total, first := m.MultiplyAdds(); total != 2070 || first != 1620 {
		t.Errorf("found %d multiply-adds, %d of the first layer, expected 2070 and 1620", total, first)
	}
	if m.Input() != input || m.Classes() != classes {
		t.Errorf("input and classes are %v and %d, expected %v and %d", m.Input(), m.Classes(), input, classes)
	}
}
