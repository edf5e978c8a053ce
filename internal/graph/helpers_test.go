package graph_test

import (
	"math"
	"testing"

	"dpsgd/internal/graph"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// float32s draws n values between -1 and 1.
func float32s(n int, seed uint64) []float32 {
	src := random.Seeded(seed)
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(2*src.Float64() - 1)
	}
	return values
}

// elementwise declares an operation of one argument with its derivative: gradient(x, dy) is dx.
func elementwise(b *graph.Builder, name string, x *gorgonia.Node, f func(x float32) float32, gradient func(x, dy float32) float32) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	shape := x.Shape()
	return b.Apply(graph.Operation{
		Name: name, Type: tensor.Float32, Shape: shape,
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = f(v)
			}
		},
		Gradient: func(inputs []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.Apply(graph.Operation{
				Name: name + "-gradient", Type: tensor.Float32, Shape: shape,
				Run: func(out graph.Array, in []graph.Array) {
					for i, v := range in[0].Float32 {
						out.Float32[i] = gradient(v, in[1].Float32[i])
					}
				},
			}, inputs[0], dy)}
		},
	}, x)
}

func sine(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
	return elementwise(b, "sine", x,
		func(x float32) float32 { return float32(math.Sin(float64(x))) },
		func(x, dy float32) float32 { return float32(math.Cos(float64(x))) * dy })
}

func square(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
	return elementwise(b, "square", x,
		func(x float32) float32 { return x * x },
		func(x, dy float32) float32 { return 2 * x * dy })
}

// twice declares 2·x, which may use up the memory of x.
func twice(b *graph.Builder, x *gorgonia.Node, inPlace bool) *gorgonia.Node {
	return b.Apply(graph.Operation{
		Name: "twice", Type: tensor.Float32, Shape: x.Shape(), InPlace: inPlace,
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = 2 * v
			}
		},
	}, x)
}

// product declares the elementwise product of two nodes, which may be one and the same.
func product(b *graph.Builder, x, y *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	multiply := func(out graph.Array, in []graph.Array) {
		for i, v := range in[0].Float32 {
			out.Float32[i] = v * in[1].Float32[i]
		}
	}
	return b.Apply(graph.Operation{
		Name: "product", Type: tensor.Float32, Shape: x.Shape(), Run: multiply,
		Gradient: func(inputs []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
			gradients := make([]*gorgonia.Node, 2)
			for i, in := range inputs {
				if b.Tracked(in) {
					gradients[i] = b.Apply(graph.Operation{Name: "product-gradient", Type: tensor.Float32, Shape: x.Shape(), Run: multiply}, dy, inputs[1-i])
				}
			}
			return gradients
		},
	}, x, y)
}

// branching is a network in which three gradients meet at h, so that differentiation adds nodes of
// its own: y = sin(h)·h² + h∘h with h = sin(x).
type branching struct {
	x, weights, h, y, dh *gorgonia.Node
}

func declareBranching(b *graph.Builder, n int) branching {
	var g branching
	g.x = b.Input("x", tensor.Float32, n)
	g.weights = b.Input("weights", tensor.Float32, n)
	g.h = sine(b, g.x)
	b.Track(g.h)
	y := product(b, sine(b, g.h), square(b, g.h))
	g.y = product(b, y, product(b, g.h, g.h))
	gradients := b.Backpropagate(g.y, g.weights, []*gorgonia.Node{g.h})
	if gradients != nil {
		g.dh = gradients[0]
	}
	return g
}

// reference computes y and dh of one value in float64.
func (branching) reference(x, weight float64) (y, dh float64) {
	h := math.Sin(x)
	// y = sin(h)·h⁴
	return math.Sin(h) * h * h * h * h, weight * (math.Cos(h)*h*h*h*h + 4*math.Sin(h)*h*h*h)
}

func compile(t *testing.T, b *graph.Builder, outputs ...*gorgonia.Node) *graph.Executor {
	t.Helper()
	return tiny.Must(b.Compile(outputs...))(t)
}
