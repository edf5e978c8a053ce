package perexample_test

import (
	"slices"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/perexample"

	"gorgonia.org/tensor"
)

// Layers like those of the reference networks.
var (
	// First layer of the MNIST network: 196 positions, 64 taps, 16 filters.
	earlyConv = perexample.ConvWeight{Conv: kernel.Conv{Height: 28, Width: 28, In: 1, Out: 16, KernelH: 8, KernelW: 8, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3}}
	// A late convolution of the size of the CIFAR network's last: 16 positions, 1152 taps, 128
	// filters.
	lateConv = perexample.ConvWeight{Conv: kernel.Conv{Height: 4, Width: 4, In: 128, Out: 128, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1}}
	dense    = perexample.DenseWeight{In: 2048, Out: 128}
)

// Costs in multiply-adds per example, with T positions, D taps and p filters: ghost norm T²(D+p),
// or with stride 1, k·k taps and c channels T²(c+k·k+p), the gradient T·D·p.
func TestCosts(t *testing.T) {
	for _, test := range []struct {
		name string
		rule perexample.Rule
		size int
		want perexample.Cost
	}{
		{"early convolution", earlyConv, 16 * 64, perexample.Cost{GhostNorm: 196 * 196 * 80, Form: 196 * 64 * 16}},
		{"late convolution", lateConv, 128 * 1152, perexample.Cost{GhostNorm: 16 * 16 * (128 + 9 + 128), Form: 16 * 1152 * 128}},
		{"dense", dense, 2048 * 128, perexample.Cost{GhostNorm: 2048 + 128, Form: 2048 * 128}},
		{"bias", perexample.Bias{Positions: 196, Channels: 16}, 16, perexample.Cost{GhostNorm: 196 * 16, Form: 196 * 16}},
		{"scale", perexample.ScaleWeight{Positions: 9, Channels: 4}, 4, perexample.Cost{GhostNorm: 36, Form: 36}},
		{"three views of the late convolution", perexample.SummedViews{Rule: lateConv, Views: 3}, 128 * 1152, perexample.Cost{GhostNorm: 48 * 1152 * 128, Form: 48 * 1152 * 128}},
	} {
		if got := test.rule.Cost(); got != test.want {
			t.Errorf("%s: cost is %+v, expected %+v", test.name, got, test.want)
		}
		if got := test.rule.Size(); got != test.size {
			t.Errorf("%s: size is %d, expected %d", test.name, got, test.size)
		}
	}
}

// Gradients are stored where a norm without them takes more multiply-adds than storing takes, 12 a
// byte, or 4 if all of them fit a cache, as long as there is memory.
func TestChoose(t *testing.T) {
	const (
		ghost       = perexample.Ghost
		materialise = perexample.Materialise
		plenty      = 1 << 40
		batch       = 256
		early       = 4 * batch * 16 * 64 // bytes of the early convolution's gradients
	)
	// T²(D+p) = 25²·288 multiply-adds for 4·8192 bytes: 5.5 a byte.
	second := perexample.ConvWeight{Conv: halving(13, 16, 32, 4, 0)}
	standardised := perexample.StandardisedConvWeight{ConvWeight: earlyConv}
	for _, test := range []struct {
		name   string
		rules  []perexample.Rule
		batch  int
		budget int64
		want   []perexample.Engine
	}{
		{"each layer its own", []perexample.Rule{earlyConv, lateConv, dense}, batch, plenty, []perexample.Engine{materialise, ghost, ghost}},
		{"a whole cache", []perexample.Rule{second}, 256, plenty, []perexample.Engine{materialise}},
		{"more than a cache", []perexample.Rule{second}, 257, plenty, []perexample.Engine{ghost}},
		{"norms of formed gradients", []perexample.Rule{standardised, perexample.SummedViews{Rule: lateConv, Views: 2}}, batch, plenty, []perexample.Engine{materialise, ghost}},
		{"no memory", []perexample.Rule{earlyConv, lateConv, dense}, batch, 0, []perexample.Engine{ghost, ghost, ghost}},
		{"just enough memory", []perexample.Rule{earlyConv}, batch, early, []perexample.Engine{materialise}},
		{"a byte too little", []perexample.Rule{earlyConv}, batch, early - 1, []perexample.Engine{ghost}},
		{"memory for one of two", []perexample.Rule{earlyConv, earlyConv}, batch, 2*early - 1, []perexample.Engine{materialise, ghost}},
		{"ghost layers take no memory", []perexample.Rule{dense, earlyConv}, batch, early, []perexample.Engine{ghost, materialise}},
		{"nothing to choose", nil, batch, plenty, []perexample.Engine{}},
	} {
		if got := perexample.Choose(test.rules, test.batch, test.budget); !slices.Equal(got, test.want) {
			t.Errorf("%s: engines are %v, expected %v", test.name, got, test.want)
		}
	}
}

func TestEngineNames(t *testing.T) {
	if g, m := perexample.Ghost.String(), perexample.Materialise.String(); g != "ghost" || m != "materialise" {
		t.Errorf("engines are called %q and %q, expected ghost and materialise", g, m)
	}
	for _, want := range engines {
		text, _ := want.MarshalText()
		if got := perexample.Engine(-1); got.UnmarshalText(text) != nil || got != want {
			t.Errorf("%q is read as %v, expected %v", text, got, want)
		}
	}
	var e perexample.Engine
	if err := e.UnmarshalText([]byte("auto")); err == nil || err.Error() != `perexample: found the engine "auto", expected ghost or materialise` {
		t.Errorf("an unknown engine: %v", err)
	}
}

// Shapes that do not fit the rule fail the builder, with the rule, what was found and what was
// expected.
func TestWrongShapesAreRefused(t *testing.T) {
	conv := perexample.ConvWeight{Conv: geometries["lowered"]}
	for _, test := range []struct {
		name     string
		rule     perexample.Rule
		x, dz, w []int
		want     string
	}{
		{"dense input", perexample.DenseWeight{In: 3, Out: 2}, []int{4, 5}, []int{4, 2}, []int{4}, "dense weight: the input has 5 values per example (shape (4, 5)), expected 3"},
		{"dense output", perexample.DenseWeight{In: 3, Out: 2}, []int{4, 3}, []int{4, 3}, []int{4}, "dense weight: the output has 3 values per example (shape (4, 3)), expected 2"},
		{"dense batch", perexample.DenseWeight{In: 3, Out: 2}, []int{4, 3}, []int{5, 2}, []int{4}, "dense weight: found 5 examples (shape (5, 2)), expected 4"},
		{"dense weights", perexample.DenseWeight{In: 3, Out: 2}, []int{4, 3}, []int{4, 2}, []int{3}, "found 3 examples (shape (3)), expected 4"},
		{"conv input", conv, []int{4, 8, 7, 1}, []int{4, 6, 6, 4}, []int{4}, "convolution weight: the input has 56 values per example (shape (4, 8, 7, 1)), expected 64"},
		{"bias", perexample.Bias{Positions: 2, Channels: 3}, []int{4, 1}, []int{4, 5}, []int{4}, "bias: the output has 5 values per example (shape (4, 5)), expected 6"},
		{"scale input", perexample.ScaleWeight{Positions: 2, Channels: 3}, []int{4, 5}, []int{4, 6}, []int{4}, "scale: the input has 5 values per example (shape (4, 5)), expected 6"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, engine := range engines {
				b := graph.NewBuilder(nil)
				x, dz := b.Input("x", tensor.Float32, test.x...), b.Input("dz", tensor.Float32, test.dz...)
				w := b.Input("w", tensor.Float32, test.w...)
				use := perexample.Use{Parameter: "p", Rule: test.rule, Input: x}
				perexample.NewBinding(b, use, dz, engine).SquaredNorms(b)
				sum := perexample.WeightedSum(b, use, dz, w)
				checkRefused(t, engine.String(), b, test.want)
				if sum != nil {
					t.Errorf("%v: found a node of a sum, expected none", engine)
				}
			}
		})
	}
}
