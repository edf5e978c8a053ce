package clip

import (
	"dpsgd/internal/graph"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Graph is the private part of a step in the computation graph: squared norms, clip factors, clipped sums.
type Graph struct {
	// SquaredNorms holds the squared L2 norm over all parameters of each per-example gradient, float64, shape (B).
	// It is sensitive.
	SquaredNorms *gorgonia.Node
	// Factors holds what each gradient is multiplied by, shape (B). It is sensitive.
	Factors *gorgonia.Node
	// Sums holds, for each plan, the sum of clipped gradients of its parameter, in the parameter's memory order.
	Sums []*gorgonia.Node
}

// Declare adds norms, factors and clipped sums to the graph. mask (B) is 1 for an example of the batch and
// 0 for a row that is padding or invalid; such a row adds exactly 0.
func Declare(b *graph.Builder, policy Policy, plans []perexample.Plan, mask *gorgonia.Node) Graph {
	if len(plans) == 0 {
		b.Fail("clip: found no parameters, expected the plan of at least one")
		return Graph{}
	}
	norms := make([]*gorgonia.Node, len(plans))
	b.Part("norms")
	for i, p := range plans {
		norms[i] = p.SquaredNorms(b)
	}
	g := Graph{SquaredNorms: total(b, norms)}
	g.Factors = factors(b, policy, g.SquaredNorms, mask)
	b.Part("sums")
	for _, p := range plans {
		g.Sums = append(g.Sums, p.WeightedSum(b, g.Factors))
	}
	return g
}

// total adds the squared norms of all parameters.
func total(b *graph.Builder, norms []*gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Apply(graph.Operation{
		Name: "total-squared-norms", Type: tensor.Float64, Shape: norms[0].Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			copy(out.Float64, in[0].Float64)
			for _, n := range in[1:] {
				for i, v := range n.Float64 {
					out.Float64[i] += v
				}
			}
		},
	}, norms...)
}

// factors asks the policy and then the mask: padding and invalid rows get exactly 0.
func factors(b *graph.Builder, policy Policy, squaredNorms, mask *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Apply(graph.Operation{
		Name: "clip-factors", Type: tensor.Float32, Shape: mask.Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			policy.Factors(out.Float32, in[0].Float64)
			for i, m := range in[1].Float32 {
				if m == 0 {
					out.Float32[i] = 0
				}
			}
		},
	}, squaredNorms, mask)
}
