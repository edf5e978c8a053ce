package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// NumClasses is the value of [Linear] Out that stands for the number of classes of the model; in
// YAML it is the word classes.
const NumClasses = -1

// Linear is the dense layer z = xWᵀ + b on vectors, or on each vector of a sequence: x (B, in) or
// (B, T, in), W (Out, in), b (Out). PyTorch: nn.Linear.
type Linear struct {
	Out    int // or NumClasses
	NoBias bool
}

var linear = kind("Fully connected layer; in a sequence, for each position.", func() Layer { return &Linear{} }, "dense", "fc")

func (l *Linear) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "out_features", Also: []string{"units"}, Doc: "Number of outputs; classes is the number of classes of the data set.",
			Format: setting.Integer{Min: 1, Max: 1 << 20, Word: "classes", WordValue: NumClasses, WordMeans: "the number of classes of the data set"},
			Value:  &l.Out, Required: true},
		bias(&l.NoBias),
	}
}

func (Linear) Kind() string { return "linear" }

func (l Linear) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if s := x.Shape(); len(s) > 3 {
		return p.reject("its input has shape %v per example, expected a vector or a sequence; put flatten, global_avg_pool2d or patch_embedding in front", []int(s[1:]))
	}
	if l.Out == NumClasses {
		l.Out = p.model.classes
	}
	if l.Out < 1 {
		return p.reject("it has %d outputs, expected at least 1", l.Out)
	}
	in := x.Shape()[len(x.Shape())-1]
	return p.dense(x, dense{out: l.Out, noBias: l.NoBias, weight: "weight", bias: "bias", weights: uniform(in), biases: uniform(in)})
}

// dense describes a dense layer whose parameters have names and initial values of their own.
type dense struct {
	out             int
	noBias          bool
	weight, bias    string
	weights, biases initialiser
}

// dense declares the dense layer l on the last dimension of x, (B, in) or (B, T, in), with its
// adapter if it has one, and returns its output.
func (p *Pass) dense(x *gorgonia.Node, l dense) *gorgonia.Node {
	return p.adapt(x, p.product(x, l), l)
}

// Weights of a layer without positions are packed for products of a few examples at a time, which
// stay in the cache with the layers around it, if there are at most packedValues of them in rows of
// less than packedRow. A product of the whole batch is faster for others.
const packedValues, packedRow = 1 << 16, 1024

// product declares the dense layer l by itself.
func (p *Pass) product(x *gorgonia.Node, l dense) *gorgonia.Node {
	shape := x.Shape().Clone()
	last := len(shape) - 1
	positions, in, out := product(shape[1:last]), shape[last], l.out
	shape[last] = out
	w := p.Parameter(l.weight, l.weights, []int{out, in}, nil)
	a := affine{
		weights: w, rule: perexample.DenseWeight{In: in, Out: out}.At(positions), filters: w,
		noBias: l.noBias, bias: perexample.Bias{Positions: positions, Channels: out}, biasName: l.bias, biases: l.biases,
		multiplyAdds: positions * in * out,
		forward:      graph.Operation{Name: "linear", Shape: shape},
		backward:     graph.Operation{Name: "linear-input-gradient"},
	}
	batch, pool := shape[0], p.Pool()
	addBias := func(z []float32, inputs []graph.Array) {
		if len(inputs) == 3 {
			kernel.AddBias(z, inputs[2].Float32)
		}
	}
	if last == 1 && (in*out > packedValues || in >= packedRow) {
		a.forward.Run = func(z graph.Array, a []graph.Array) {
			pool.Gemm(false, true, batch, out, in, 1, a[0].Float32, in, a[1].Float32, in, 0, z.Float32, out)
			addBias(z.Float32, a)
		}
		a.backward.Run = func(dx graph.Array, a []graph.Array) {
			pool.Gemm(false, false, batch, in, out, 1, a[0].Float32, out, a[1].Float32, in, 0, dx.Float32, in)
		}
		return p.affine(x, a)
	}
	p.Keeps(2 * 4 * in * out)
	var forward, backward kernel.Packed
	a.forward.Prepare = func(a []graph.Array) { forward.Set(pool, true, in, out, a[1].Float32) }
	a.forward.Rows = func(_, lo, hi int, z graph.Array, a []graph.Array) {
		lo, hi = lo*positions, hi*positions
		forward.Multiply(z.Float32[lo*out:hi*out], out, a[0].Float32[lo*in:hi*in], in, hi-lo, 0)
		addBias(z.Float32[lo*out:hi*out], a)
	}
	a.backward.Prepare = func(a []graph.Array) { backward.Set(pool, false, out, in, a[1].Float32) }
	a.backward.Rows = func(_, lo, hi int, dx graph.Array, a []graph.Array) {
		lo, hi = lo*positions, hi*positions
		backward.Multiply(dx.Float32[lo*in:hi*in], in, a[0].Float32[lo*out:hi*out], out, hi-lo, 0)
	}
	return p.affine(x, a)
}
