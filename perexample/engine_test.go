package perexample_test

import (
	"slices"
	"testing"
	"time"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/tiny"
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
// or with stride 1, k·k taps and c channels T²(c+k·k+p), the others T·D·p.
func TestCosts(t *testing.T) {
	for _, test := range []struct {
		name string
		rule perexample.Rule
		size int
		want perexample.Cost
	}{
		{"early convolution", earlyConv, 16 * 64, perexample.Cost{GhostNorm: 196 * 196 * 80, GhostSum: 196 * 64 * 16, Materialise: 196 * 64 * 16}},
		{"late convolution", lateConv, 128 * 1152, perexample.Cost{GhostNorm: 16 * 16 * (128 + 9 + 128), GhostSum: 16 * 1152 * 128, Materialise: 16 * 1152 * 128}},
		{"dense", dense, 2048 * 128, perexample.Cost{GhostNorm: 2048 + 128, GhostSum: 2048 * 128, Materialise: 2048 * 128}},
		{"bias", perexample.Bias{Positions: 196, Channels: 16}, 16, perexample.Cost{GhostNorm: 196 * 16, GhostSum: 196 * 16, Materialise: 196 * 16}},
		{"scale", perexample.ScaleWeight{Positions: 9, Channels: 4}, 4, perexample.Cost{GhostNorm: 36, GhostSum: 36, Materialise: 36}},
		{"three views of the late convolution", perexample.SummedViews{Rule: lateConv, Views: 3}, 128 * 1152, perexample.Cost{GhostNorm: 48 * 1152 * 128, GhostSum: 48 * 1152 * 128, Materialise: 48 * 1152 * 128}},
	} {
		if got := test.rule.Cost(); got != test.want {
			t.Errorf("%s: cost is %+v, expected %+v", test.name, got, test.want)
		}
		if got := test.rule.Size(); got != test.size {
			t.Errorf("%s: size is %d, expected %d", test.name, got, test.size)
		}
	}
}

func TestChoose(t *testing.T) {
	const (
		ghost       = perexample.Ghost
		materialise = perexample.Materialise
		plenty      = 1 << 40
		batch       = 256
		early       = 4 * batch * 16 * 64 // bytes of the early convolution's gradients
	)
	// The early convolution gains by storing gradients, the others do not.
	timing := map[perexample.Rule]perexample.Timing{
		earlyConv: {Ghost: 1000, Materialise: 652}, lateConv: {Ghost: 1000, Materialise: 863}, dense: {Ghost: 1, Materialise: 1000},
	}
	for _, test := range []struct {
		name   string
		rules  []perexample.Rule
		budget int64
		want   []perexample.Engine
	}{
		{"each layer its own", []perexample.Rule{earlyConv, lateConv, dense}, plenty, []perexample.Engine{materialise, ghost, ghost}},
		{"no memory", []perexample.Rule{earlyConv, lateConv, dense}, 0, []perexample.Engine{ghost, ghost, ghost}},
		{"just enough memory", []perexample.Rule{earlyConv}, early, []perexample.Engine{materialise}},
		{"a byte too little", []perexample.Rule{earlyConv}, early - 1, []perexample.Engine{ghost}},
		{"memory for one of two", []perexample.Rule{earlyConv, earlyConv}, 2*early - 1, []perexample.Engine{materialise, ghost}},
		{"ghost layers take no memory", []perexample.Rule{dense, earlyConv}, early, []perexample.Engine{ghost, materialise}},
		{"nothing to choose", nil, plenty, []perexample.Engine{}},
	} {
		var timings []perexample.Timing
		for _, r := range test.rules {
			timings = append(timings, timing[r])
		}
		if got := perexample.Choose(test.rules, timings, batch, test.budget); !slices.Equal(got, test.want) {
			t.Errorf("%s: engines are %v, expected %v", test.name, got, test.want)
		}
	}
}

// Where storing takes three quarters of the time, give or take 15 %, the work decides: for the
// early convolution, whose ghost norm takes fifteen times the multiply-adds of its gradient, and
// against the late one, whose gradient has as many bytes as its positions have multiply-adds.
// Further away the times decide, whatever they say.
func TestCloseTimesDoNotDecide(t *testing.T) {
	for _, test := range []struct {
		materialise time.Duration // where the ghost engine takes 1000
		early, late perexample.Engine
	}{
		{1, perexample.Materialise, perexample.Materialise},
		{652, perexample.Materialise, perexample.Materialise},
		{653, perexample.Materialise, perexample.Ghost},
		{749, perexample.Materialise, perexample.Ghost},
		{751, perexample.Materialise, perexample.Ghost},
		{862, perexample.Materialise, perexample.Ghost},
		{863, perexample.Ghost, perexample.Ghost},
		{9999, perexample.Ghost, perexample.Ghost},
	} {
		found := perexample.Timing{Ghost: 1000, Materialise: test.materialise}
		got := perexample.Choose([]perexample.Rule{earlyConv, lateConv}, []perexample.Timing{found, found}, 64, 1<<40)
		if want := []perexample.Engine{test.early, test.late}; !slices.Equal(got, want) {
			t.Errorf("%+v: engines are %v, expected %v", found, got, want)
		}
	}
}

// Gradients that leave the cache cost more: with close times the second convolution of the MNIST
// network stores those of 256 examples, 8 MiB, and not those of 257.
func TestCloseTimesDependOnTheBatch(t *testing.T) {
	second := perexample.ConvWeight{Conv: kernel.Conv{Height: 13, Width: 13, In: 16, Out: 32, KernelH: 4, KernelW: 4, StrideH: 2, StrideW: 2}}
	for batch, want := range map[int]perexample.Engine{1: perexample.Materialise, 256: perexample.Materialise, 257: perexample.Ghost} {
		found := []perexample.Timing{{Ghost: 100, Materialise: 75}}
		if got := perexample.Choose([]perexample.Rule{second}, found, batch, 1<<40); got[0] != want {
			t.Errorf("batch %d: the engine is %v, expected %v", batch, got[0], want)
		}
	}
}

// Measurements that agree within 15 % on how the engines compare give the shorter times, however
// much longer one of them took; others give way to the estimate.
func TestBusyMachinesDoNotDecide(t *testing.T) {
	estimated := perexample.Timing{Ghost: 7, Materialise: 5}
	for _, test := range []struct{ first, second, want perexample.Timing }{
		{perexample.Timing{Ghost: 100, Materialise: 60}, perexample.Timing{Ghost: 98, Materialise: 61}, perexample.Timing{Ghost: 98, Materialise: 60}},
		{perexample.Timing{Ghost: 1000, Materialise: 600}, perexample.Timing{Ghost: 100, Materialise: 60}, perexample.Timing{Ghost: 100, Materialise: 60}},
		{perexample.Timing{Ghost: 100, Materialise: 100}, perexample.Timing{Ghost: 100, Materialise: 115}, perexample.Timing{Ghost: 100, Materialise: 100}},
		{perexample.Timing{Ghost: 100, Materialise: 100}, perexample.Timing{Ghost: 100, Materialise: 116}, estimated},
		{perexample.Timing{Ghost: 100, Materialise: 60}, perexample.Timing{Ghost: 100, Materialise: 600}, estimated},
		{perexample.Timing{Ghost: 100, Materialise: 60}, perexample.Timing{Ghost: 1000, Materialise: 60}, estimated},
		{perexample.Timing{}, perexample.Timing{}, estimated},
	} {
		if got := perexample.Settle([2]perexample.Timing{test.first, test.second}, estimated); got != test.want {
			t.Errorf("%+v and %+v give %+v, expected %+v", test.first, test.second, got, test.want)
		}
	}
}

// Every rule can be measured.
func TestMeasure(t *testing.T) {
	rules := []perexample.Rule{
		earlyConv, lateConv, dense, perexample.Bias{Positions: 196, Channels: 16}, perexample.Bias{Positions: 1, Channels: 10},
		perexample.ScaleWeight{Positions: 9, Channels: 4},
	}
	timings := tiny.Must(perexample.Measure(rules, 8))(t)
	estimates := perexample.Estimate(rules, 8)
	for i, got := range timings {
		if least := min(got.Ghost, got.Materialise, estimates[i].Ghost, estimates[i].Materialise); least <= 0 {
			t.Errorf("%T takes %+v and about %+v, expected positive times", rules[i], got, estimates[i])
		}
	}
	// The late convolution is measured, on inputs, gradients and norms of 8 examples.
	if found, want := perexample.MeasuredBytes(rules[1:2], 8), 4.0*8*(4*4*128+4*4*128+128*1152+3); found != want {
		t.Errorf("measuring takes %v bytes, expected %v", found, want)
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
