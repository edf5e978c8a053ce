package graph_test

import (
	"fmt"

	"dpsgd/internal/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The gradient of Σ weightᵢ·xᵢ² with respect to an intermediate node.
func Example() {
	b := graph.NewBuilder(nil)
	x := b.Input("x", tensor.Float32, 3)
	weights := b.Input("weights", tensor.Float32, 3)

	z := b.Apply(graph.Operation{
		Name: "copy", Type: tensor.Float32, Shape: []int{3},
		Run: func(out graph.Array, in []graph.Array) { copy(out.Float32, in[0].Float32) },
	}, x)
	b.Track(z)
	y := b.Apply(graph.Operation{
		Name: "square", Type: tensor.Float32, Shape: []int{3},
		Run: func(out graph.Array, in []graph.Array) {
			for i, v := range in[0].Float32 {
				out.Float32[i] = v * v
			}
		},
		Gradient: func(inputs []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.Apply(graph.Operation{
				Name: "square-gradient", Type: tensor.Float32, Shape: []int{3},
				Run: func(out graph.Array, in []graph.Array) {
					for i, v := range in[0].Float32 {
						out.Float32[i] = 2 * v * in[1].Float32[i]
					}
				},
			}, inputs[0], dy)}
		},
	}, z)
	dz := b.Backpropagate(y, weights, []*gorgonia.Node{z})

	step, err := b.Compile(append(dz, y)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	copy(b.Values(x).Float32, []float32{1, 2, 3})
	copy(b.Values(weights).Float32, []float32{1, 1, 0})
	step.RunAll()
	fmt.Println("y: ", step.Values(y).Float32)
	fmt.Println("dz:", step.Values(dz[0]).Float32)
	// Output:
	// y:  [1 4 9]
	// dz: [2 4 0]
}
