package perexample_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ruleCase is one row of the contract suite: a rule, the values per example of x and dz, and the
// gradient of one example written out in float64.
type ruleCase struct {
	name  string
	rule  perexample.Rule
	x, dz int
	naive func(x, dz []float32) []float64
	// tokens is, of a rule that takes them, how many there are.
	tokens int
}

// ruleCases is the table that a new rule adds its row to.
func ruleCases() []ruleCase {
	cases := []ruleCase{
		denseCase("dense 5 to 3", 5, 3),
		denseCase("dense 1 to 1", 1, 1),
		denseCase("dense 40 to 17", 40, 17),
		biasCase("bias of a dense layer", 1, 7),
		biasCase("bias of a convolution", 12, 5),
		scaleCase("gain of a group norm", 9, 4),
		scaleCase("gain of a layer norm", 1, 11),
		embeddingCase("embedding of 8 tokens", 8, 5, 3),
		embeddingCase("embedding of few of 300", 4, 300, 8),
		embeddingCase("embedding in two parts", 5, 300, 70),
		sharedCase("weight of two dense layers", denseCase("", 6, 4), convCase("", kernel.Conv{Height: 1, Width: 3, In: 6, Out: 4, KernelH: 1, KernelW: 1, StrideH: 1, StrideW: 1})),
	}
	for name, c := range map[string]kernel.Conv{
		"conv 3×3":                     {Height: 5, Width: 6, In: 2, Out: 3, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1},
		"conv 3×3, padding":            {Height: 4, Width: 4, In: 3, Out: 5, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
		"conv 4×4, stride 2, padding":  {Height: 9, Width: 7, In: 1, Out: 4, KernelH: 4, KernelW: 4, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2},
		"conv 2×3, strides 3 and 2":    {Height: 8, Width: 7, In: 2, Out: 2, KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 2, PadH: 0, PadW: 1},
		"conv 1×1 with stride":         {Height: 5, Width: 5, In: 6, Out: 7, KernelH: 1, KernelW: 1, StrideH: 2, StrideW: 2},
		"conv with one position":       {Height: 3, Width: 3, In: 4, Out: 2, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1},
		"conv 3×3, 8 channels":         {Height: 9, Width: 7, In: 8, Out: 16, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1},
		"conv 3×3, 16 channels, small": {Height: 4, Width: 4, In: 16, Out: 8, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1},
		"conv with many output planes": {Height: 3, Width: 3, In: 1, Out: 33, KernelH: 2, KernelW: 2, StrideH: 1, StrideW: 1},
		"conv 3×2, dilated":            {Height: 8, Width: 7, In: 2, Out: 3, KernelH: 3, KernelW: 2, StrideH: 1, StrideW: 1, PadH: 1, PadW: 2, DilationH: 2, DilationW: 3},
		"conv dilated, with stride":    {Height: 8, Width: 9, In: 1, Out: 4, KernelH: 2, KernelW: 3, StrideH: 2, StrideW: 1, PadH: 1, DilationH: 3, DilationW: 2},
		"conv in 2 groups":             {Height: 5, Width: 4, In: 6, Out: 4, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 2},
		"conv in 3 groups, dilated":    {Height: 6, Width: 7, In: 3, Out: 9, KernelH: 2, KernelW: 2, StrideH: 2, StrideW: 1, DilationH: 1, DilationW: 3, Groups: 3},
		"conv depthwise":               {Height: 5, Width: 6, In: 5, Out: 5, KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: 1, PadW: 1, Groups: 5},
		"conv depthwise, with stride":  {Height: 7, Width: 6, In: 16, Out: 16, KernelH: 3, KernelW: 2, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1, DilationH: 2, Groups: 16},
	} {
		cases = append(cases, convCase(name, c))
		if c.Taps() > 1 {
			cases = append(cases, standardisedCase("standardised "+name, c))
		}
	}
	for _, c := range slices.Clone(cases) {
		// The three terms of a single value cancel, and the norm covers what that costs: it is too
		// large by more than the tolerance here, see maxCancellation.
		if c.rule.Size() > 1 {
			cases = append(cases, viewsCase(c, 3))
		}
	}
	return cases
}

func forEachRule(t *testing.T, test func(t *testing.T, c ruleCase)) {
	for _, c := range ruleCases() {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

func denseCase(name string, in, out int) ruleCase {
	return ruleCase{name: name, rule: perexample.DenseWeight{In: in, Out: out}, x: in, dz: out, naive: func(x, dz []float32) []float64 {
		g := make([]float64, out*in)
		for o := range out {
			for i := range in {
				g[o*in+i] = float64(dz[o]) * float64(x[i])
			}
		}
		return g
	}}
}

func biasCase(name string, positions, channels int) ruleCase {
	// x is not read; it has a size of its own here.
	return ruleCase{name: name, rule: perexample.Bias{Positions: positions, Channels: channels}, x: 2, dz: positions * channels, naive: func(_, dz []float32) []float64 {
		g := make([]float64, channels)
		for t := range positions {
			for c := range channels {
				g[c] += float64(dz[t*channels+c])
			}
		}
		return g
	}}
}

func scaleCase(name string, positions, channels int) ruleCase {
	n := positions * channels
	return ruleCase{name: name, rule: perexample.ScaleWeight{Positions: positions, Channels: channels}, x: n, dz: n, naive: func(x, dz []float32) []float64 {
		g := make([]float64, channels)
		for t := range positions {
			for c := range channels {
				g[c] += float64(x[t*channels+c]) * float64(dz[t*channels+c])
			}
		}
		return g
	}}
}

// sharedCase adds up the gradients of two uses of a parameter.
func sharedCase(name string, a, b ruleCase) ruleCase {
	rule := perexample.Shared{Rules: []perexample.Rule{a.rule, b.rule}, Views: 1}
	return ruleCase{name: name, rule: rule, x: a.x + b.x, dz: a.dz + b.dz, naive: func(x, dz []float32) []float64 {
		g := a.naive(x[:a.x], dz[:a.dz])
		for i, v := range b.naive(x[a.x:], dz[a.dz:]) {
			g[i] += v
		}
		return g
	}}
}

func embeddingCase(name string, positions, vocabulary, width int) ruleCase {
	rule := perexample.EmbeddingWeight{Positions: positions, Vocabulary: vocabulary, Width: width}
	return ruleCase{name: name, rule: rule, x: positions, dz: positions * width, tokens: vocabulary, naive: func(x, dz []float32) []float64 {
		g := make([]float64, vocabulary*width)
		for t, token := range x {
			for c := range width {
				if token >= 0 && token < float32(vocabulary) {
					g[int(token)*width+c] += float64(dz[t*width+c])
				}
			}
		}
		return g
	}}
}

// convCase writes out dW[o][kh][kw][c] = Σ over output positions of dz[position][o]·x[pixel under
// the tap][the c-th channel of the filter's group].
func convCase(name string, c kernel.Conv) ruleCase {
	dilationH, dilationW, groups := max(c.DilationH, 1), max(c.DilationW, 1), max(c.Groups, 1)
	outH := (c.Height+2*c.PadH-dilationH*(c.KernelH-1)-1)/c.StrideH + 1
	outW := (c.Width+2*c.PadW-dilationW*(c.KernelW-1)-1)/c.StrideW + 1
	channels, filters := c.In/groups, c.Out/groups
	naive := func(x, dz []float32) []float64 {
		g := make([]float64, c.Out*c.KernelH*c.KernelW*channels)
		for oh := range outH {
			for ow := range outW {
				for kh := range c.KernelH {
					for kw := range c.KernelW {
						h, w := oh*c.StrideH-c.PadH+kh*dilationH, ow*c.StrideW-c.PadW+kw*dilationW
						if h < 0 || h >= c.Height || w < 0 || w >= c.Width {
							continue
						}
						for o := range c.Out {
							for ch := range channels {
								g[((o*c.KernelH+kh)*c.KernelW+kw)*channels+ch] +=
									float64(dz[(oh*outW+ow)*c.Out+o]) * float64(x[(h*c.Width+w)*c.In+o/filters*channels+ch])
							}
						}
					}
				}
			}
		}
		return g
	}
	return ruleCase{name: name, rule: perexample.ConvWeight{Conv: c}, x: c.Height * c.Width * c.In, dz: outH * outW * c.Out, naive: naive}
}

// standardisedCase pulls the gradient of convCase back through the Jacobian of the standardisation
// of random weights, which is written out: dŵᵢ/dwⱼ = s·(δᵢⱼ - 1/n) - s³·(wᵢ-µ)·(wⱼ-µ).
func standardisedCase(name string, c kernel.Conv) ruleCase {
	plain := convCase(name, c)
	taps := c.Taps()
	w := normals(c.Out*taps, random.Seeded(9))
	standardisation := perexample.NewStandardisation(c.Out, taps)
	standardisation.Set(make([]float32, len(w)), w)
	naive := func(x, dz []float32) []float64 {
		hat := plain.naive(x, dz)
		g := make([]float64, len(hat))
		for o := range c.Out {
			at := o * taps
			var mean, squares float64
			for i := range taps {
				mean += float64(w[at+i]) / float64(taps)
			}
			for i := range taps {
				squares += (float64(w[at+i]) - mean) * (float64(w[at+i]) - mean)
			}
			s := 1 / math.Sqrt(squares+1e-4)
			for j := range taps {
				for i := range taps {
					derivative := -s/float64(taps) - s*s*s*(float64(w[at+i])-mean)*(float64(w[at+j])-mean)
					if i == j {
						derivative += s
					}
					g[at+j] += hat[at+i] * derivative
				}
			}
		}
		return g
	}
	rule := perexample.StandardisedConvWeight{ConvWeight: perexample.ConvWeight{Conv: c}, Standardisation: standardisation}
	return ruleCase{name: name, rule: rule, x: plain.x, dz: plain.dz, naive: naive}
}

// viewsCase adds up the gradients of so many rows of each example.
func viewsCase(c ruleCase, views int) ruleCase {
	naive := func(x, dz []float32) []float64 {
		g := make([]float64, c.rule.Size())
		for v := range views {
			for j, part := range c.naive(x[v*c.x:(v+1)*c.x], dz[v*c.dz:(v+1)*c.dz]) {
				g[j] += part
			}
		}
		return g
	}
	return ruleCase{fmt.Sprintf("%d views, %s", views, c.name), c.rule.OfViews(views), views * c.x, views * c.dz, naive, c.tokens}
}

// naiveRows are the gradients of all examples of a batch.
func (c ruleCase) naiveRows(in inputs) [][]float64 {
	rows := make([][]float64, len(in.w))
	for i := range rows {
		rows[i] = c.naive(in.x[i*c.x:(i+1)*c.x], in.dz[i*c.dz:(i+1)*c.dz])
	}
	return rows
}

// inputs holds a rule's inputs for a whole batch.
type inputs struct{ x, dz, w []float32 }

// draw fills a batch with normal numbers, and weights between 0 and 1 of which every third is 0.
func (c ruleCase) draw(batch int, seed uint64) inputs {
	src := random.Seeded(seed)
	in := inputs{x: normals(batch*c.x, src), dz: normals(batch*c.dz, src), w: make([]float32, batch)}
	if c.tokens > 0 {
		for i := range in.x {
			in.x[i] = float32(src.Uint64()%uint64(c.tokens+2)) - 1 // of which the least and the greatest are none
		}
	}
	for i := range in.w {
		if i%3 != 1 {
			in.w[i] = float32(src.Float64())
		}
	}
	return in
}

func normals(n int, src *random.Public) []float32 {
	draw, values := rand.New(src), make([]float32, n)
	for i := range values {
		values[i] = float32(draw.NormFloat64())
	}
	return values
}

func (in inputs) clone() inputs {
	return inputs{slices.Clone(in.x), slices.Clone(in.dz), slices.Clone(in.w)}
}

// overwrite sets all of example i's values of x and dz, or only the values of one of them.
func (c ruleCase) overwrite(in inputs, i int, x, dz float32) {
	copy(in.x[i*c.x:], slices.Repeat([]float32{x}, c.x))
	copy(in.dz[i*c.dz:], slices.Repeat([]float32{dz}, c.dz))
}

// rig is a rule at work on a graph, with both engines side by side.
type rig struct {
	pool            *kernel.Pool
	builder         *graph.Builder
	executor        *graph.Executor
	x, dz, w        *gorgonia.Node
	norms           map[perexample.Engine]*gorgonia.Node
	sum             *gorgonia.Node // of plain training
	plans           map[perexample.Engine]perexample.Binding
	batch, gradient int
}

var engines = []perexample.Engine{perexample.Ghost, perexample.Materialise}

func newRig(t *testing.T, c ruleCase, batch, threads int) *rig {
	t.Helper()
	pool := kernel.NewPool(threads)
	t.Cleanup(pool.Close)
	b := graph.NewBuilder(pool)
	r := &rig{pool: pool, builder: b, batch: batch, gradient: c.rule.Size(),
		norms: map[perexample.Engine]*gorgonia.Node{}, plans: map[perexample.Engine]perexample.Binding{}}
	r.x = b.Input("x", tensor.Float32, batch, c.x)
	r.dz = b.Input("dz", tensor.Float32, batch, c.dz)
	r.w = b.Input("w", tensor.Float32, batch)
	use := perexample.Use{Parameter: "p", Rule: c.rule, Input: r.x}
	r.sum = perexample.WeightedSum(b, use, r.dz, r.w)
	outputs := []*gorgonia.Node{r.sum}
	for _, engine := range engines {
		plan := perexample.NewBinding(b, use, r.dz, engine)
		r.plans[engine], r.norms[engine] = plan, plan.SquaredNorms(b)
		outputs = append(append(outputs, r.norms[engine]), plan.Outputs()...)
	}
	r.executor = tiny.Must(b.Compile(outputs...))(t)
	return r
}

// results of one run, copied.
type results struct {
	gradients []float32
	norms     map[perexample.Engine][]float64
	sum       []float32
	integers  map[perexample.Engine][]float64 // the clipped sum, clip norm 1, in units of its lattice
}

func (r *rig) run(t *testing.T, in inputs) results {
	t.Helper()
	copy(r.builder.Values(r.x).Float32, in.x)
	copy(r.builder.Values(r.dz).Float32, in.dz)
	copy(r.builder.Values(r.w).Float32, in.w)
	r.executor.RunAll()
	out := results{norms: map[perexample.Engine][]float64{}, integers: map[perexample.Engine][]float64{}}
	stored := r.plans[perexample.Materialise].Parts(r.executor, r.pool)[0].(clip.Rows)
	for i := range r.batch {
		stored.Form(0, i, func(piece []float32) { out.gradients = append(out.gradients, piece...) })
	}
	out.sum = append(out.sum, r.executor.Values(r.sum).Float32...)
	for _, engine := range engines {
		out.norms[engine] = append([]float64{}, r.executor.Values(r.norms[engine]).Float64...)
		out.integers[engine] = r.integers(t, engine)
	}
	return out
}

// integers is the clipped sum of all examples.
func (r *rig) integers(t *testing.T, engine perexample.Engine) (integers []float64) {
	t.Helper()
	sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, r.gradient, r.pool))(t)
	b := clip.Batch{
		SquaredNorms: r.executor.Values(r.norms[engine]).Float64, Parts: r.plans[engine].Parts(r.executor, r.pool),
	}
	tiny.Check(t, sum.Add(b, r.batch))
	integers = make([]float64, sum.Dim())
	values := make([]int64, sum.Dim())
	sum.Release(func(read clip.Integers, _ clip.Lattice) { read(values, 0) })
	for i, v := range values {
		integers[i] = float64(v)
	}
	return integers
}

// row is the gradient of one example.
func (r results) row(i int) []float32 {
	n := len(r.gradients) / len(r.norms[perexample.Ghost])
	return r.gradients[i*n : (i+1)*n]
}

func squaredNorm(g []float64) float64 {
	var sum float64
	for _, v := range g {
		sum += v * v
	}
	return sum
}

// distance is the L2 norm of got - want.
func distance(got []float32, want []float64) float64 {
	var sum float64
	for i, v := range got {
		sum += (float64(v) - want[i]) * (float64(v) - want[i])
	}
	return math.Sqrt(sum)
}

// sameBits compares as bit patterns, so that NaN equals NaN.
func sameBits[T float32 | float64](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool { return math.Float64bits(float64(x)) == math.Float64bits(float64(y)) })
}

func nan() float32      { return float32(math.NaN()) }
func infinity() float32 { return float32(math.Inf(1)) }

// checkRefused expects that the builder has failed with a message of one line that contains want.
func checkRefused(t *testing.T, what string, b *graph.Builder, want string) {
	t.Helper()
	err := b.Err()
	if !errors.Is(err, graph.ErrDeclaration) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: error is %v, expected a line with %q", what, err, want)
	}
}
