package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Activation is a function applied to every value. The ready ones are [ReLU], [Tanh], [Sigmoid], [GELU] and [SiLU].
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

// Kind is the function's name.
func (a Activation) Kind() string { return a.kind }

// Forward declares the layer.
func (a Activation) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	return p.perExample(a.kind, x.Shape(), func(y []float32, in ...[]float32) { a.value(y, in[0]) },
		func(inputs []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			from := y
			if a.fromX {
				from = inputs[0]
			}
			return []*gorgonia.Node{p.perExample(a.kind+"-gradient", x.Shape(),
				func(dx []float32, in ...[]float32) { a.gradient(dx, in[0], in[1]) }, nil, from, dy)}
		}, x)
}

// perExample adds an operation that computes every example's output from the same example's inputs: run gets the
// values of a range of whole examples, and for each input those of the same examples.
func (p *Pass) perExample(name string, shape tensor.Shape, run func(out []float32, in ...[]float32),
	gradient func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node, inputs ...*gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	batch, pool := shape[0], p.Pool()
	return p.Apply(graph.Operation{
		Name: name, Type: tensor.Float32, Shape: shape, Gradient: gradient,
		Run: func(out graph.Array, in []graph.Array) {
			pool.Run(batch, 1, func(_, lo, hi int) {
				parts := make([][]float32, len(in))
				for i, a := range in {
					n := len(a.Float32) / batch
					parts[i] = a.Float32[lo*n : hi*n]
				}
				n := len(out.Float32) / batch
				run(out.Float32[lo*n:hi*n], parts...)
			})
		},
	}, inputs...)
}
