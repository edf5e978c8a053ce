package model_test

import (
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
	"dpsgd/model"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// input and classes of the networks of the contract suite: no two sizes are equal.
var input = model.Input{Height: 6, Width: 5, Channels: 2}

const classes = 3

// network is one row of the contract suite.
type network struct {
	name   string
	layers model.Sequential
	input  model.Input // where it is another than that of most
	lora   model.LoRA  // of rank 0 without adapters
	only   []string    // what is trained; nil is all
}

// in returns the shape of the examples.
func (n network) in() model.Input {
	if n.input != (model.Input{}) {
		return n.input
	}
	return input
}

// model draws all parameters, also the gains and shifts that start at 1 and 0.
func (n network) model(t *testing.T) *model.Model {
	t.Helper()
	m := n.fresh(t, 1)
	for i, v := range normals(len(m.Values), 2) {
		m.Values[i] += 0.1 * v
	}
	given := m.Export()
	for i, tensor := range given { // the constants start at 1 and 0
		for j, v := range normals(len(tensor.Data), uint64(i)+5) {
			if strings.Contains(tensor.Name, ".running_") || m.FrozenValues() > 0 && len(tensor.Shape) == 1 {
				tensor.Data[j] = float32(math.Abs(float64(tensor.Data[j] + 0.1*v)))
			}
		}
	}
	tiny.Check(t, m.Import(given))
	return m
}

// fresh returns the model as training begins with it.
func (n network) fresh(t *testing.T, seed uint64) *model.Model {
	t.Helper()
	m := tiny.Must(model.New(n.layers, n.in(), classes, seed))(t)
	if n.lora.Rank > 0 {
		tiny.Check(t, m.Adapt(n.lora, seed))
	}
	tiny.Check(t, m.TrainOnly(n.only))
	return m
}

// conv, maxPool and avgPool have square windows.
func conv(out, kernel, stride, padding int) model.Conv2D {
	return model.Conv2D{Out: out, Kernel: model.Both(kernel), Stride: model.Both(stride), Padding: model.Both(padding)}
}

func maxPool(kernel, stride, padding int) model.MaxPool2D {
	return model.MaxPool2D{Kernel: model.Both(kernel), Stride: model.Both(stride), Padding: model.Both(padding)}
}

func avgPool(kernel, stride, padding int) model.AvgPool2D {
	return model.AvgPool2D{Kernel: model.Both(kernel), Stride: model.Both(stride), Padding: model.Both(padding)}
}

// networks has every kind of layer in several places: add a row for a new one.
var networks = []network{
	{name: "convolution", layers: model.Sequential{conv(4, 3, 1, 1), model.Tanh, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "convolutions of 8 and 16 channels", layers: model.Sequential{conv(8, 3, 1, 1), model.Tanh, conv(16, 3, 1, 1), model.ReLU,
		conv(8, 3, 1, 0), model.GlobalAvgPool2D{}, model.Linear{Out: classes}}},
	{name: "convolution with stride, without biases", layers: model.Sequential{
		model.Conv2D{Out: 3, Kernel: model.Both(2), Stride: model.Both(2), Padding: model.Both(1), NoBias: true}, model.Sigmoid, model.Flatten{}, model.Linear{Out: classes, NoBias: true}}},
	{name: "standardised convolutions", layers: model.Sequential{model.StandardisedConv2D{Conv2D: conv(3, 3, 1, 1)}, model.ReLU,
		model.StandardisedConv2D{Conv2D: model.Conv2D{Out: 4, Kernel: model.Both(2), Stride: model.Both(2), NoBias: true}}, model.GroupNorm{Groups: 2}, model.Tanh,
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "two convolutions", layers: model.Sequential{conv(3, 3, 1, 0), model.ReLU, conv(4, 2, 2, 1), model.ReLU,
		model.GlobalAvgPool2D{}, model.Linear{Out: classes}}},
	{name: "dense", layers: model.Sequential{model.Flatten{}, model.Linear{Out: 7}, model.GELU, model.Linear{Out: 4}, model.SiLU, model.Linear{Out: classes}}},
	{name: "tempered sigmoids", layers: model.Sequential{
		conv(4, 3, 1, 1), model.TemperedSigmoid{Scale: 1.6, InverseTemperature: 3, Offset: 0.7},
		model.Flatten{}, model.Linear{Out: 5}, model.TemperedSigmoid{Scale: 2, InverseTemperature: 2, Offset: 1}, model.Linear{Out: classes}}},
	{name: "group norm", layers: model.Sequential{conv(4, 3, 2, 1), model.GroupNorm{Groups: 2}, model.SiLU,
		conv(4, 2, 1, 0), model.GroupNorm{Groups: 4}, model.GELU, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "frozen batch norms", layers: model.Sequential{conv(4, 3, 2, 1), model.FrozenBatchNorm{}, model.Tanh,
		conv(3, 2, 1, 0), model.FrozenBatchNorm{Eps: 0.1}, model.SiLU, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "layer norm", layers: model.Sequential{
		conv(3, 3, 2, 0), model.LayerNorm{}, model.Tanh, model.Flatten{}, model.LayerNorm{}, model.Linear{Out: classes}}},
	{name: "norms first", layers: model.Sequential{model.GroupNorm{Groups: 1}, model.LayerNorm{}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "max pool with padding", layers: model.Sequential{conv(3, 3, 1, 1), maxPool(3, 2, 1), model.ReLU,
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "average pool with padding", layers: model.Sequential{conv(3, 3, 1, 1), model.Tanh, avgPool(3, 2, 1),
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "overlapping pools first", layers: model.Sequential{maxPool(2, 1, 0), avgPool(2, 1, 0), conv(3, 2, 1, 0), maxPool(2, 1, 0),
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "rectangular windows", layers: model.Sequential{
		model.Conv2D{Out: 3, Kernel: model.Size{Height: 1, Width: 3}, Stride: model.Size{Height: 2, Width: 1}, Padding: model.Size{Height: 0, Width: 2}}, model.Tanh,
		model.MaxPool2D{Kernel: model.Size{Height: 2, Width: 3}, Stride: model.Size{Height: 1, Width: 2}, Padding: model.Size{Height: 0, Width: 1}},
		model.AvgPool2D{Kernel: model.Size{Height: 1, Width: 2}, Stride: model.Both(1)}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "dilated convolutions", layers: model.Sequential{
		model.Conv2D{Out: 3, Kernel: model.Size{Height: 3, Width: 2}, Stride: model.Both(1), Padding: model.Both(1), Dilation: model.Size{Height: 2, Width: 3}}, model.Tanh,
		model.Conv2D{Out: 4, Kernel: model.Both(2), Stride: model.Both(2), Dilation: model.Both(2), NoBias: true}, model.SiLU,
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "grouped convolutions", layers: model.Sequential{
		model.Conv2D{Out: 6, Kernel: model.Both(3), Stride: model.Both(1), Padding: model.Both(1), Groups: 2}, model.Tanh,
		model.StandardisedConv2D{Conv2D: model.Conv2D{Out: 9, Kernel: model.Both(2), Stride: model.Both(1), Dilation: model.Both(2), Groups: 3}}, model.SiLU,
		model.GlobalAvgPool2D{}, model.Linear{Out: classes}}},
	{name: "depthwise separable", layers: model.Sequential{conv(4, 1, 1, 0), model.Tanh,
		model.Conv2D{Out: 4, Kernel: model.Both(3), Stride: model.Both(1), Padding: model.Both(1), Groups: 4, NoBias: true}, conv(3, 1, 1, 0), model.SiLU,
		model.Conv2D{Out: 3, Kernel: model.Both(2), Stride: model.Both(2), Dilation: model.Both(2), Groups: 3}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "average pool of the inside", layers: model.Sequential{conv(3, 3, 1, 1), model.ELU{Alpha: 1},
		model.AvgPool2D{Kernel: model.Size{Height: 3, Width: 2}, Stride: model.Size{Height: 2, Width: 1}, Padding: model.Both(1), OnlyInside: true},
		model.Flatten{}, model.Linear{Out: classes}}},
	{name: "residual, identity", layers: model.Sequential{conv(3, 3, 2, 1),
		model.Residual{Body: model.Sequential{model.GroupNorm{Groups: 3}, model.ReLU, conv(3, 3, 1, 1)}},
		model.GlobalAvgPool2D{}, model.Linear{Out: classes}}},
	{name: "residual, convolution as shortcut", layers: model.Sequential{model.Residual{
		Body:     model.Sequential{conv(4, 3, 2, 1), model.Tanh, conv(4, 3, 1, 1)},
		Shortcut: model.Sequential{model.Conv2D{Out: 4, Kernel: model.Both(1), Stride: model.Both(2), NoBias: true}}},
		model.GroupNorm{Groups: 2}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "residual, flattened", layers: model.Sequential{conv(1, 3, 2, 1), model.Residual{Body: model.Sequential{model.Tanh, conv(1, 1, 1, 0)}}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "residual in a residual", layers: model.Sequential{model.Flatten{}, model.Linear{Out: 5},
		model.Residual{Body: model.Sequential{model.Tanh, model.Residual{Body: model.Sequential{model.Linear{Out: 5}, model.SiLU}}, model.Linear{Out: 5}}},
		model.Linear{Out: classes}}},
	{name: "adapters", lora: model.LoRA{Rank: 2, Alpha: 3}, layers: model.Sequential{model.Flatten{}, model.Linear{Out: 7}, model.GELU, model.Linear{Out: 4}, model.SiLU, model.Linear{Out: classes}}},
	{name: "adapters and biases", lora: model.LoRA{Rank: 1, Alpha: 2, Layers: []string{"1", "5"}}, only: []string{"biases", "3"},
		layers: model.Sequential{model.Flatten{}, model.Linear{Out: 7}, model.GELU, model.Linear{Out: 4}, model.SiLU, model.Linear{Out: classes}}},
	{name: "norms alone", only: []string{"norms"}, layers: model.Sequential{conv(4, 3, 2, 1), model.GroupNorm{Groups: 2}, model.SiLU,
		model.LayerNorm{}, model.Flatten{}, model.Linear{Out: classes}}},
	{name: "dropout of nothing", layers: model.Sequential{model.Flatten{}, model.Dropout{}, model.Linear{Out: 5}, model.Dropout{P: 0}, model.Tanh, model.Linear{Out: classes}}},
}

func forEachNetwork(t *testing.T, test func(t *testing.T, net network)) {
	for _, net := range slices.Concat(networks, sequenceNetworks) {
		t.Run(net.name, func(t *testing.T) { test(t, net) })
	}
}

func newModel(t *testing.T, layers model.Sequential) *model.Model {
	t.Helper()
	return network{layers: layers}.model(t)
}

func normals(n int, seed uint64) []float32 {
	src, values := rand.New(random.Seeded(seed)), make([]float32, n)
	for i := range values {
		values[i] = float32(src.NormFloat64())
	}
	return values
}

// batch holds the input of a step: images (n, H, W, C), labels and mask.
type batch struct {
	images []float32
	labels []int32
	mask   []float32
}

// draw makes n ordinary examples of a model's input.
func draw(m *model.Model, n int, seed uint64) batch {
	in := m.Input()
	if in.Length > 0 {
		return drawSequences(in, n, seed, m.Classes())
	}
	b := batch{images: normals(n*in.Height*in.Width*in.Channels, seed), labels: make([]int32, n), mask: make([]float32, n)}
	for i := range n {
		b.labels[i], b.mask[i] = int32((i+int(seed))%m.Classes()), 1
	}
	return b
}

func (b batch) size() int { return len(b.labels) }

// image is the memory of one example's pixels.
func (b batch) image(i int) []float32 {
	n := len(b.images) / b.size()
	return b.images[i*n : (i+1)*n]
}

func (b batch) clone() batch {
	return batch{slices.Clone(b.images), slices.Clone(b.labels), slices.Clone(b.mask)}
}

// part is the examples [lo, hi).
func (b batch) part(lo, hi int) batch {
	n := len(b.images) / b.size()
	return batch{b.images[lo*n : hi*n], b.labels[lo:hi], b.mask[lo:hi]}
}

// fill sets all pixels of an example.
func (b batch) fill(i int, v float32) {
	pixels := b.image(i)
	for j := range pixels {
		pixels[j] = v
	}
}

// step is a private training step on a graph: everything up to the clipped sum, and the per-example
// gradients themselves.
type step struct {
	builder  *graph.Builder
	network  *model.Network
	pool     *kernel.Pool
	policy   clip.Policy
	bindings []perexample.Binding // in the order of the parameters
	stored   []perexample.Binding // the same, all with stored gradients
	norms    *gorgonia.Node
	executor *graph.Executor
}

type options struct {
	batch    int
	engine   perexample.Engine
	clipNorm float64
	threads  int // 0 means 1
}

func newStep(t *testing.T, m *model.Model, o options) *step {
	t.Helper()
	pool := kernel.NewPool(o.threads)
	t.Cleanup(pool.Close)
	b := graph.NewBuilder(pool)
	n := tiny.Must(m.Training(b, o.batch))(t)
	var gradients []*gorgonia.Node
	n.Uses, gradients = perexample.Backpropagate(b, n.Losses, n.Valid, n.Uses)
	s := &step{builder: b, network: n, pool: pool, policy: clip.Flat{ClipNorm: o.clipNorm}, bindings: make([]perexample.Binding, len(n.Uses))}
	for i, dz := range gradients {
		s.stored = append(s.stored, perexample.NewBinding(b, n.Uses[i], dz, perexample.Materialise))
		s.bindings[i] = perexample.NewBinding(b, n.Uses[i], dz, o.engine)
	}
	s.norms, _ = perexample.SquaredNorms(b, s.bindings)
	forming, _ := perexample.SquaredNorms(b, s.stored)
	wanted := []*gorgonia.Node{n.Logits, n.Losses, n.Valid, s.norms, forming}
	for _, p := range s.bindings {
		wanted = append(wanted, p.Outputs()...)
	}
	s.executor = tiny.Must(b.Compile(wanted...))(t)
	return s
}

// result of one run, copied; parameters one after the other as in Model.Values.
type result struct {
	logits, losses, valid []float32
	squaredNorms          []float64
	gradients             [][]float32 // of each example
	sum                   []float64   // of the contributions, which are clipped and rounded
}

// run runs the step for the examples of a batch, which may be smaller than the graph's. The rest of
// the graph has NaN pixels and what earlier runs left.
func (s *step) run(t *testing.T, in batch) result {
	t.Helper()
	n := len(s.builder.Values(s.network.Mask).Float32)
	pixels := s.builder.Values(s.network.Images).Float32
	clear(s.builder.Values(s.network.Mask).Float32)
	for i := range pixels {
		pixels[i] = float32(math.NaN())
	}
	copy(pixels, in.images)
	for i, label := range in.labels {
		s.builder.Values(s.network.Targets).Float32[i] = float32(label)
	}
	copy(s.builder.Values(s.network.Mask).Float32, in.mask)
	s.executor.RunFirst(in.size(), n)
	read := func(node *gorgonia.Node) []float32 { return slices.Clone(s.executor.Values(node).Float32) }
	r := result{logits: read(s.network.Logits), losses: read(s.network.Losses), valid: read(s.network.Valid),
		squaredNorms: slices.Clone(s.executor.Values(s.norms).Float64), gradients: make([][]float32, n)}
	for _, p := range s.stored {
		rows := p.Parts(s.executor, s.pool)[0].(clip.Rows)
		for j := range n {
			rows.Form(0, j, func(piece []float32) { r.gradients[j] = append(r.gradients[j], piece...) })
		}
	}
	r.sum = s.sum(t, in.size())
	return r
}

// sum adds up the contributions of the batch that was run last.
func (s *step) sum(t *testing.T, examples int) (sum []float64) {
	t.Helper()
	batch := clip.Batch{SquaredNorms: s.executor.Values(s.norms).Float64}
	dim := 0
	for _, p := range s.bindings {
		for _, part := range p.Parts(s.executor, s.pool) {
			batch.Parts = append(batch.Parts, part)
			dim += part.Size()
		}
	}
	clipped := tiny.Must(clip.NewSum(s.policy, dim, s.pool))(t)
	clipped.Refine(examples)
	tiny.Check(t, clipped.Add(batch, examples))
	clipped.Release(func(integers clip.Integers, l clip.Lattice) {
		sum = make([]float64, dim)
		sums := make([]int64, dim)
		integers(sums, 0)
		for i, v := range sums {
			sum[i] = float64(v) * l.Spacing
		}
	})
	return sum
}

// rounding bounds the cost of rounding to integers, relative to the norm of the sum: an outer
// product is rounded in its two factors.
const rounding = 0.002

var engines = []perexample.Engine{perexample.Ghost, perexample.Materialise}

func norm[T float32 | float64](x []T) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// distance is the L2 norm of a - b.
func distance[A, B float32 | float64](a []A, b []B) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var sum float64
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
