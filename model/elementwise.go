package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Activation is a function applied to every value. The ready ones are [ReLU], [Tanh], [Sigmoid],
// [GELU] and [SiLU].
type Activation struct {
	kind     string
	value    func(y, x []float32)
	gradient func(dx, from, dy []float32)
	fromX    bool // the gradient reads the input, not the output
}

// The activations. GELU is the exact form x·Φ(x), PyTorch's default.
var (
	ReLU    = Activation{kind: "relu", value: kernel.ReLU, gradient: kernel.ReLUGrad}
	Tanh    = Activation{kind: "tanh", value: kernel.Tanh, gradient: kernel.TanhGrad}
	Sigmoid = Activation{kind: "sigmoid", value: kernel.Sigmoid, gradient: kernel.SigmoidGrad}
	GELU    = Activation{kind: "gelu", value: kernel.GELU, gradient: kernel.GELUGrad, fromX: true}
	SiLU    = Activation{kind: "silu", value: kernel.SiLU, gradient: kernel.SiLUGrad, fromX: true}
)

var (
	relu    = kind("max(x, 0).", func() Layer { return &ReLU })
	tanh    = kind("Hyperbolic tangent; bounded, and often the best choice for private training.", func() Layer { return &Tanh })
	sigmoid = kind("1 / (1 + exp(-x)).", func() Layer { return &Sigmoid })
	gelu    = kind("x times the normal distribution function of x.", func() Layer { return &GELU })
	silu    = kind("x times the sigmoid of x.", func() Layer { return &SiLU }, "swish")
)

// Kind is the function's name.
func (a Activation) Kind() string { return a.kind }

// Forward declares the layer.
func (a Activation) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	return p.inPlace(a.kind, x.Shape(), func(y, x, _ []float32) { a.value(y, x) },
		func(inputs []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			from := y
			if a.fromX {
				from = inputs[0]
			}
			return []*gorgonia.Node{p.inPlace(a.kind+"-gradient", x.Shape(),
				a.gradient, nil, from, dy)}
		}, x)
}

// perExample adds an operation that computes every example's output from the same example's inputs,
// one or two: run gets the values of a range of whole examples, and the same examples' inputs.
func (p *Pass) perExample(name string, shape tensor.Shape, run func(out, a, b []float32),
	gradient func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node, inputs ...*gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	return p.Apply(p.operation(name, shape, run, gradient), inputs...)
}

// inPlace is perExample for a run whose out may be the memory of one of its inputs.
func (p *Pass) inPlace(name string, shape tensor.Shape, run func(out, a, b []float32),
	gradient func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node, inputs ...*gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	op := p.operation(name, shape, run, gradient)
	op.InPlace = true
	return p.Apply(op, inputs...)
}

func (p *Pass) operation(name string, shape tensor.Shape, run func(out, a, b []float32),
	gradient func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node) graph.Operation {
	batch := shape[0]
	return graph.Operation{
		Name: name, Type: tensor.Float32, Shape: shape, Gradient: gradient,
		Run: graph.Parallel(p.Pool(), batch, graph.Grain(shape.TotalSize()/batch), func(_, lo, hi int, out graph.Array, in []graph.Array) {
			examples := func(x []float32) []float32 {
				n := len(x) / batch
				return x[lo*n : hi*n]
			}
			var second []float32
			if len(in) == 2 {
				second = examples(in[1].Float32)
			}
			run(examples(out.Float32), examples(in[0].Float32), second)
		}),
	}
}
