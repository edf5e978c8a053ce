package clip_test

import (
	"math"
	"slices"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// layers are three parameters on two inputs: a convolution's filters, a dense weight and its bias.
var (
	filters = perexample.ConvWeight{Conv: kernel.Conv{Height: 4, Width: 3, In: 2, Out: 3, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1}}
	weight  = perexample.DenseWeight{In: 5, Out: 4}
	bias    = perexample.Bias{Positions: 1, Channels: 4}
)

var engines = []perexample.Engine{perexample.Ghost, perexample.Materialise}

// values per example of the four inputs: x and dz of the convolution, x and dz of the dense layer.
var sizes = [4]int{4 * 3 * 2, 3 * 2 * 3, 5, 4}

// rig is the private part of a step for the three parameters, on inputs that a test writes.
type rig struct {
	builder   *graph.Builder
	inputs    [4]*gorgonia.Node
	mask      *gorgonia.Node
	clipped   clip.Graph
	gradients []*gorgonia.Node
	executor  *graph.Executor
	batch     int
}

func newRig(t *testing.T, policy clip.Policy, engine perexample.Engine, batch int) *rig {
	t.Helper()
	b := graph.NewBuilder(nil)
	r := &rig{builder: b, batch: batch, mask: b.Input("mask", tensor.Float32, batch)}
	for i, name := range []string{"conv x", "conv dz", "dense x", "dense dz"} {
		r.inputs[i] = b.Input(name, tensor.Float32, batch, sizes[i])
	}
	var plans []perexample.Plan
	for _, u := range []struct {
		rule  perexample.Rule
		x, dz *gorgonia.Node
	}{{filters, r.inputs[0], r.inputs[1]}, {weight, r.inputs[2], r.inputs[3]}, {bias, r.inputs[2], r.inputs[3]}} {
		plans = append(plans, perexample.NewPlan(b, perexample.Use{Rule: u.rule, Input: u.x}, u.dz, engine))
		r.gradients = append(r.gradients, u.rule.Gradients(b, u.x, u.dz))
	}
	r.clipped = clip.Declare(b, policy, plans, r.mask)
	e, err := b.Compile(slices.Concat(r.clipped.Sums, r.gradients, []*gorgonia.Node{r.clipped.SquaredNorms, r.clipped.Factors})...)
	if err != nil {
		t.Fatal(err)
	}
	r.executor = e
	return r
}

// example is the rows of one example in the four inputs.
type example [4][]float32

// drawExample fills the rows with normal numbers times a scale.
func drawExample(src *random.Source, scale float64) example {
	var e example
	for i, n := range sizes {
		wide := make([]float64, n)
		random.Normals(wide, src)
		for _, v := range wide {
			e[i] = append(e[i], float32(scale*v))
		}
	}
	return e
}

// constant fills the rows with one value.
func constant(v float32) example {
	var e example
	for i, n := range sizes {
		e[i] = slices.Repeat([]float32{v}, n)
	}
	return e
}

type result struct {
	squaredNorms []float64
	factors      []float32
	gradients    [][]float64
	sum          []float32
}

// run clips and adds the examples; rows without one are masked and hold NaN.
func (r *rig) run(t *testing.T, examples ...example) result {
	t.Helper()
	mask := r.builder.Values(r.mask).Float32
	clear(mask)
	for k, node := range r.inputs {
		values := r.builder.Values(node).Float32
		for i := range values {
			values[i] = float32(math.NaN())
		}
		for i, e := range examples {
			copy(values[i*sizes[k]:], e[k])
			mask[i] = 1
		}
	}
	return r.runAsIs(t)
}

func (r *rig) runAsIs(t *testing.T) result {
	t.Helper()
	if err := r.executor.RunAll(); err != nil {
		t.Fatal(err)
	}
	out := result{
		squaredNorms: slices.Clone(r.executor.Values(r.clipped.SquaredNorms).Float64),
		factors:      slices.Clone(r.executor.Values(r.clipped.Factors).Float32),
		gradients:    make([][]float64, r.batch),
	}
	for i, node := range r.gradients {
		values := r.executor.Values(node).Float32
		for j, v := range values {
			example := j / (len(values) / r.batch)
			out.gradients[example] = append(out.gradients[example], float64(v))
		}
		out.sum = append(out.sum, r.executor.Values(r.clipped.Sums[i]).Float32...)
	}
	return out
}

func length[T float32 | float64](x []T) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

func distance[A, B float32 | float64](a []A, b []B) float64 {
	var sum float64
	for i, v := range a {
		sum += (float64(v) - float64(b[i])) * (float64(v) - float64(b[i]))
	}
	return math.Sqrt(sum)
}

// The norm is that over all parameters together, the factors are the policy's for it, and each sum is Σ factor·gradient.
func TestDeclareClipsWholeGradients(t *testing.T) {
	const clipNorm = 5
	for _, engine := range engines {
		r := newRig(t, clip.Flat{ClipNorm: clipNorm}, engine, 4)
		src := random.Seeded(1)
		got := r.run(t, drawExample(src, 0.1), drawExample(src, 1), drawExample(src, 3), drawExample(src, 0.5))
		want := make([]float64, len(got.sum))
		factors := make([]float32, 4)
		clip.Flat{ClipNorm: clipNorm}.Factors(factors, got.squaredNorms)
		clipped := 0
		for i, g := range got.gradients {
			if norm := math.Sqrt(got.squaredNorms[i]); math.Abs(norm-length(g)) > 1e-6*length(g) {
				t.Errorf("%v: norm %d is %v, over all parameters it is %v", engine, i, norm, length(g))
			}
			if got.factors[i] != factors[i] {
				t.Errorf("%v: factor %d is %v, the policy says %v", engine, i, got.factors[i], factors[i])
			}
			if got.factors[i] < 1 {
				clipped++
			}
			for j, v := range g {
				want[j] += float64(got.factors[i]) * v
			}
		}
		if clipped == 0 || clipped == len(factors) {
			t.Fatalf("%v: %d examples are clipped; the test needs some of both", engine, clipped)
		}
		if d := distance(got.sum, want); d > 1e-6*length(want) {
			t.Errorf("%v: the sum is off by %.2g of its norm", engine, d/length(want))
		}
	}
}

// Rows outside the mask and gradients that are not finite have the factor 0 and add exactly 0: the sum is that of the
// other examples, bit for bit.
func TestMaskedAndNonFiniteRowsAddZero(t *testing.T) {
	for _, engine := range engines {
		r := newRig(t, clip.Flat{ClipNorm: 1}, engine, 3)
		src := random.Seeded(2)
		good := drawExample(src, 2)
		want := r.run(t, good)
		if want.factors[1] != 0 || want.factors[2] != 0 {
			t.Errorf("%v: factors of masked rows are %v, expected 0", engine, want.factors[1:])
		}
		for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e38} {
			got := r.run(t, good, constant(v))
			if got.factors[1] != 0 || !slices.Equal(got.sum, want.sum) {
				t.Errorf("%v: an example of %v has the factor %v and changes the sum by %v", engine, v, got.factors[1], distance(got.sum, want.sum))
			}
		}
		// A masked row of ordinary values.
		r.run(t, good, drawExample(src, 1), drawExample(src, 1))
		clear(r.builder.Values(r.mask).Float32[1:])
		if got := r.runAsIs(t); !slices.Equal(got.sum, want.sum) {
			t.Errorf("%v: masked examples change the sum", engine)
		}
		// Nothing at all.
		clear(r.builder.Values(r.mask).Float32)
		if got := r.runAsIs(t); length(got.sum) != 0 {
			t.Errorf("%v: the sum without examples has norm %v", engine, length(got.sum))
		}
	}
}

// Through the graph too, one example more or less moves the sum by at most the bound, whatever the example is.
func TestSensitivityOfDeclaredSum(t *testing.T) {
	const clipNorm, batch, pairs = 0.7, 5, 400
	for _, engine := range engines {
		r := newRig(t, clip.Flat{ClipNorm: clipNorm}, engine, batch)
		src := random.Seeded(3)
		largest := 0.0
		for range pairs {
			var examples []example
			for range batch - 1 {
				examples = append(examples, hostile(src))
			}
			without := r.run(t, examples...).sum
			with := r.run(t, append(examples, hostile(src))...).sum
			// The other rows are added in float32, a few times 2^-24 of the sum: package clip's documentation.
			d := distance(with, without)
			if limit := clipNorm + 0x1p-22*(length(with)+length(without)); !(d <= limit) {
				t.Fatalf("%v: one example moves the sum by %v, the bound is %v", engine, d, clipNorm)
			}
			largest = max(largest, d)
		}
		if largest < clipNorm*(1-1e-5) {
			t.Errorf("%v: no example moved the sum by more than %v; the bound is %v and should be reached", engine, largest, clipNorm)
		}
	}
}

// hostile draws an example of a size between 1e-20 and 1e20, or one with a broken or huge value.
func hostile(src *random.Source) example {
	switch src.Uint64() % 8 {
	case 0:
		return constant(float32(math.NaN()))
	case 1:
		e := drawExample(src, 1)
		e[1][3] = float32(math.Inf(1))
		return e
	case 2:
		return constant(1e30)
	case 3:
		return constant(0)
	case 4:
		e := drawExample(src, 1e-3)
		e[0][5], e[3][1] = 1e15, 1e18
		return e
	}
	return drawExample(src, math.Pow(10, 40*src.Float64()-20))
}

// A builder that has failed stays as it is.
func TestDeclareOnFailedBuilder(t *testing.T) {
	b := graph.NewBuilder(nil)
	x, dz, mask := b.Input("x", tensor.Float32, 2, 3), b.Input("dz", tensor.Float32, 2, 9), b.Input("mask", tensor.Float32, 2)
	use := perexample.Use{Rule: perexample.DenseWeight{In: 3, Out: 4}, Input: x}
	plans := []perexample.Plan{perexample.NewPlan(b, use, dz, perexample.Ghost)}
	g := clip.Declare(b, clip.Flat{ClipNorm: 1}, plans, mask)
	if b.Err() == nil {
		t.Fatal("the builder accepted an output of the wrong size")
	}
	if g.SquaredNorms != nil || g.Factors != nil || g.Sums[0] != nil {
		t.Error("found nodes, expected none after a failure")
	}
}
