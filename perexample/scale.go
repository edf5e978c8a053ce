package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ScaleWeight is the rule of a gain γ (Channels) that multiplies x at every one of Positions
// positions, as in GroupNorm and LayerNorm: z = x∘γ with x, z (B, Positions, Channels). The
// gradient of example i is the sum of dzᵢ∘xᵢ over positions.
type ScaleWeight struct{ Positions, Channels int }

var _ Rule = ScaleWeight{}

func (r ScaleWeight) Size() int { return r.Channels }

func (r ScaleWeight) values() int { return r.Positions * r.Channels }

func (r ScaleWeight) Values() (x, dz int) { return r.values(), r.values() }

// OfViews has more positions.
func (r ScaleWeight) OfViews(views int) Rule {
	return ScaleWeight{Positions: views * r.Positions, Channels: r.Channels}
}

func (r ScaleWeight) Cost() Cost {
	sum := float64(r.values())
	return Cost{GhostNorm: sum, GhostSum: sum, Materialise: sum}
}

func (r ScaleWeight) check(b *graph.Builder, x, dz *gorgonia.Node) bool {
	return expect(b, "scale", "the input", x, r.values()) && expect(b, "scale", "the output", dz, r.values()) &&
		sameBatch(b, "scale", x, dz)
}

// Former writes Σₜ dz∘x.
func (r ScaleWeight) Former(*kernel.Pool) Former {
	return whole(r.Channels, func(_ int, g, x, dz []float32) { kernel.SumRowProducts(g, x, dz, r.Channels) })
}

func (r ScaleWeight) Gradients(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	return gradients(b, "scale-gradients", r, x, dz)
}

func (r ScaleWeight) SquaredNorms(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) {
		return nil
	}
	batch, pool := x.Shape()[0], b.Pool()
	scratch := graph.NewScratch(r.Channels)
	return b.Apply(graph.Operation{
		Name: "scale-squared-norms", Type: tensor.Float64, Shape: []int{batch},
		Run: graph.Parallel(pool, batch, graph.Grain(r.values()), func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			g := scratch.For(worker)
			for i := lo; i < hi; i++ {
				kernel.SumRowProducts(g, row(in[0], i, r.values()), row(in[1], i, r.values()), r.Channels)
				out.Float64[i] = kernel.SumSquares(g)
			}
		}),
	}, x, dz)
}

func (r ScaleWeight) WeightedSum(b *graph.Builder, x, dz, w *gorgonia.Node) *gorgonia.Node {
	if !r.check(b, x, dz) || !sameBatch(b, "scale", dz, w) {
		return nil
	}
	return b.Apply(graph.Operation{
		Name: "scale-weighted-sum", Type: tensor.Float32, Shape: []int{r.Channels},
		Run: sumOverExamples(b.Pool(), x.Shape()[0], r.Channels, func(sum []float32, i int, in []graph.Array) {
			kernel.AddScaledSumRowProducts(sum, in[2].Float32[i], row(in[0], i, r.values()), row(in[1], i, r.values()), r.Channels)
		}),
	}, x, dz, w)
}
