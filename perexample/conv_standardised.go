package perexample

import (
	"fmt"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// StandardisedConvWeight is the rule of the filters w of a convolution with ŵ, their
// [Standardisation], of the weights of the same run: the gradient of example i is the gradient of
// [ConvWeight], pulled back to w. Both engines form it, because its norm is not a function of the
// Gram matrices alone.
type StandardisedConvWeight struct {
	ConvWeight
	Standardisation *Standardisation
}

// String describes the geometry; the weights are no part of the rule.
func (r StandardisedConvWeight) String() string { return fmt.Sprintf("%+v", r.ConvWeight) }

func (r StandardisedConvWeight) names() (operation, parameter string) {
	return "standardised-conv", "convolution weight"
}

func (r StandardisedConvWeight) Cost() Cost {
	c := r.ConvWeight.Cost()
	return Cost{GhostNorm: c.Materialise, GhostSum: c.GhostSum, Materialise: c.Materialise}
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
	writers := newWriters(pool)
	return whole(pool, r.Size(), func(worker int, g, x, dz []float32) {
		w := &writers[worker]
		w.rest = g
		form(worker, x, dz, w.emit)
		r.Standardisation.Pull(g)
	})
}

func (r StandardisedConvWeight) norm(pool *kernel.Pool) norm { return formedNorm(pool, r.Former(pool)) }

func (r StandardisedConvWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	sum := r.ConvWeight.weightedSum(pool, batch)
	return func(out graph.Array, in []graph.Array) {
		sum(out, in)
		r.Standardisation.Pull(out.Float32)
	}
}
