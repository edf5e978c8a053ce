package perexample

import (
	"fmt"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// StandardisedConvWeight is the rule of the filters w of a convolution with ŵ, their
// [Standardisation], of the weights of the same run: the gradient of example i is the gradient of
// [ConvWeight], pulled back to w. Both engines form it, because its norm is not a function of the
// Gram matrices alone.
type StandardisedConvWeight struct {
	ConvWeight
	Standardisation *Standardisation
}

var _ Rule = StandardisedConvWeight{}

// String describes the geometry; the weights are no part of the rule.
func (r StandardisedConvWeight) String() string { return fmt.Sprintf("%+v", r.ConvWeight) }

func (r StandardisedConvWeight) Cost() Cost {
	c := r.ConvWeight.Cost()
	return Cost{GhostNorm: c.Materialise, GhostSum: c.GhostSum, Materialise: c.Materialise}
}

func (r StandardisedConvWeight) Gradients(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	return gradients(b, "standardised-conv-gradients", r, x, dz)
}

func (r StandardisedConvWeight) OfViews(views int) Rule { return SummedViews{r, views} }

func (r StandardisedConvWeight) Former(pool *kernel.Pool) Former {
	return r.pulled(r.ConvWeight.Former(pool), pool)
}

func (r StandardisedConvWeight) sumFormer(pool *kernel.Pool, images int) Former {
	return r.pulled(r.ConvWeight.sumFormer(pool, images), pool)
}

// pulled collects the pieces of the gradient with respect to ŵ, and pulls it back.
func (r StandardisedConvWeight) pulled(form Former, pool *kernel.Pool) Former {
	scratch, writers := graph.NewScratch(r.Size()), newWriters(pool)
	return func(worker int, x, dz []float32, emit func(piece []float32)) {
		g, w := scratch.For(worker), &writers[worker]
		w.rest = g
		form(worker, x, dz, w.emit)
		r.Standardisation.Pull(g)
		emit(g)
	}
}

func (r StandardisedConvWeight) SquaredNorms(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	return formedSquaredNorms(b, "standardised-conv-squared-norms", r, x, dz)
}

func (r StandardisedConvWeight) WeightedSum(b *graph.Builder, x, dz, w *gorgonia.Node) *gorgonia.Node {
	sum := r.ConvWeight.WeightedSum(b, x, dz, w)
	if sum == nil {
		return nil
	}
	return b.Apply(graph.Operation{
		Name: "pull-to-weights", Type: tensor.Float32, Shape: sum.Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			copy(out.Float32, in[0].Float32)
			r.Standardisation.Pull(out.Float32)
		},
	}, sum)
}
