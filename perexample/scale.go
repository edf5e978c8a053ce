package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// ScaleWeight is the rule of a gain γ (Channels) that multiplies x at every one of Positions
// positions, as in GroupNorm and LayerNorm: z = x∘γ with x, z (B, Positions, Channels). The
// gradient of example i is the sum of dzᵢ∘xᵢ over positions.
type ScaleWeight struct{ Positions, Channels int }

func (r ScaleWeight) Size() int { return r.Channels }

func (r ScaleWeight) values() int { return r.Positions * r.Channels }

func (r ScaleWeight) Values() (x, dz int) { return r.values(), r.values() }

func (r ScaleWeight) names() (operation, parameter string) { return "scale", "scale" }

// OfViews implements [Rule]: the rows of an example are further positions.
func (r ScaleWeight) OfViews(views int) Rule {
	return ScaleWeight{Positions: views * r.Positions, Channels: r.Channels}
}

func (r ScaleWeight) Cost() Cost {
	sum := float64(r.values())
	return Cost{GhostNorm: sum, GhostSum: sum, Materialise: sum}
}

// Former implements [Rule]: it forms Σₜ dz∘x.
func (r ScaleWeight) Former(pool *kernel.Pool) Former {
	return whole(pool, r.Channels, func(_ int, g, x, dz []float32) { kernel.SumRowProducts(g, x, dz, r.Channels) })
}

func (r ScaleWeight) norm(pool *kernel.Pool) norm { return formedNorm(pool, r.Former(pool)) }

func (r ScaleWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	return sumOverExamples(pool, batch, r.Channels, func(sum []float32, i int, in []graph.Array) {
		kernel.AddScaledSumRowProducts(sum, in[2].Float32[i], row(in[0], i, r.values()), row(in[1], i, r.values()), r.Channels)
	})
}
