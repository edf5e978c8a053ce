package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
)

// Bias is the rule of a bias b (Channels) added at every one of Positions output positions: z (B,
// Positions, Channels). The gradient of example i is the sum of dzᵢ over positions; x is not read.
// A dense layer has one position.
type Bias struct{ Positions, Channels int }

func (r Bias) Size() int           { return r.Channels }
func (r Bias) Values() (x, dz int) { return 1, r.Positions * r.Channels }
func (r Bias) name() string        { return "bias" }

// OfViews implements [Rule]: the rows of an example are further positions.
func (r Bias) OfViews(views int) Rule {
	return Bias{Positions: views * r.Positions, Channels: r.Channels}
}

func (r Bias) Cost() Cost {
	sum := float64(r.Positions) * float64(r.Channels)
	return Cost{GhostNorm: sum, Form: sum}
}

func (r Bias) Former(pool *kernel.Pool) Former {
	return whole(pool, r.Channels, func(_ int, g, _, dz []float32) { kernel.SumRows(g, dz, r.Channels) })
}

func (r Bias) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	if r.Positions == 1 {
		return weightedRowSum(pool, batch, r.Channels)
	}
	return sumOverExamples(pool, batch, r.Channels, func(sum []float32, i int, in []graph.Array) {
		kernel.AddScaledSumRows(sum, in[2].Float32[i], row(in[1], i, r.Positions*r.Channels), r.Channels)
	})
}

// weightedRowSum returns the Run of an operation that computes Σᵢ wᵢ gᵢ, from its inputs 1, the
// rows of g (B, n), and 2, w. Rows of weight 0 are not read. Columns are split among the threads,
// not rows: the sum is the same for any number of threads.
func weightedRowSum(pool *kernel.Pool, batch, n int) func(graph.Array, []graph.Array) {
	return graph.Parallel(pool, n, strip, func(_, lo, hi int, out graph.Array, in []graph.Array) {
		for ; lo < hi; lo += strip {
			end := min(lo+strip, hi)
			sum := out.Float32[lo:end]
			clear(sum)
			for i, weight := range in[2].Float32[:batch] {
				if weight != 0 {
					kernel.Axpy(sum, weight, in[1].Float32[i*n+lo:i*n+end])
				}
			}
		}
	})
}

// strip is the number of values of a sum that stay in the first-level cache while examples pass.
const strip = 2048

// ScaleWeight is the rule of a gain γ (Channels) that multiplies x at every one of Positions
// positions, as in GroupNorm and LayerNorm: z = x∘γ with x, z (B, Positions, Channels). The
// gradient of example i is the sum of dzᵢ∘xᵢ over positions.
type ScaleWeight struct{ Positions, Channels int }

func (r ScaleWeight) Size() int           { return r.Channels }
func (r ScaleWeight) values() int         { return r.Positions * r.Channels }
func (r ScaleWeight) Values() (x, dz int) { return r.values(), r.values() }
func (r ScaleWeight) name() string        { return "scale" }

// OfViews implements [Rule]: the rows of an example are further positions.
func (r ScaleWeight) OfViews(views int) Rule {
	return ScaleWeight{Positions: views * r.Positions, Channels: r.Channels}
}

func (r ScaleWeight) Cost() Cost {
	sum := float64(r.values())
	return Cost{GhostNorm: sum, Form: sum}
}

// Former implements [Rule]: it forms Σₜ dz∘x.
func (r ScaleWeight) Former(pool *kernel.Pool) Former {
	return whole(pool, r.Channels, func(_ int, g, x, dz []float32) { kernel.SumRowProducts(g, x, dz, r.Channels) })
}

func (r ScaleWeight) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	return sumOverExamples(pool, batch, r.Channels, func(sum []float32, i int, in []graph.Array) {
		kernel.AddScaledSumRowProducts(sum, in[2].Float32[i], row(in[0], i, r.values()), row(in[1], i, r.values()), r.Channels)
	})
}
