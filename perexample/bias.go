package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Bias is the rule of a bias b (Channels) added at every one of Positions output positions: z (B,
// Positions, Channels). The gradient of example i is the sum of dzᵢ over positions; x is not read.
// A dense layer has one position.
type Bias struct{ Positions, Channels int }

var _ Rule = Bias{}

func (r Bias) Size() int { return r.Channels }

func (r Bias) Values() (x, dz int) { return 1, r.Positions * r.Channels }

// OfViews has more positions.
func (r Bias) OfViews(views int) Rule {
	return Bias{Positions: views * r.Positions, Channels: r.Channels}
}

func (r Bias) Cost() Cost {
	sum := float64(r.Positions) * float64(r.Channels)
	return Cost{GhostNorm: sum, GhostSum: sum, Materialise: sum}
}

func (r Bias) Gradients(b *graph.Builder, _, dz *gorgonia.Node) *gorgonia.Node {
	if !expect(b, "bias", "the output", dz, r.Positions*r.Channels) {
		return nil
	}
	return gradients(b, "bias-gradients", r, dz, dz)
}

func (r Bias) Former(*kernel.Pool) Former {
	return whole(r.Channels, func(_ int, g, _, dz []float32) { kernel.SumRows(g, dz, r.Channels) })
}

func (r Bias) SquaredNorms(b *graph.Builder, _, dz *gorgonia.Node) *gorgonia.Node {
	if !expect(b, "bias", "the output", dz, r.Positions*r.Channels) {
		return nil
	}
	batch, pool := dz.Shape()[0], b.Pool()
	scratch := graph.NewScratch(r.Channels)
	return b.Apply(graph.Operation{
		Name: "bias-squared-norms", Type: tensor.Float64, Shape: []int{batch},
		Run: graph.Parallel(pool, batch, graph.Grain(r.Positions*r.Channels), func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			sum := scratch.For(worker)
			for i := lo; i < hi; i++ {
				kernel.SumRows(sum, row(in[0], i, r.Positions*r.Channels), r.Channels)
				out.Float64[i] = kernel.SumSquares(sum)
			}
		}),
	}, dz)
}

func (r Bias) WeightedSum(b *graph.Builder, _, dz, w *gorgonia.Node) *gorgonia.Node {
	if !expect(b, "bias", "the output", dz, r.Positions*r.Channels) || !sameBatch(b, "bias", dz, w) {
		return nil
	}
	if r.Positions == 1 {
		return weightedRowSum(b, dz, w)
	}
	return b.Apply(graph.Operation{
		Name: "bias-weighted-sum", Type: tensor.Float32, Shape: []int{r.Channels},
		Run: sumOverExamples(b.Pool(), dz.Shape()[0], r.Channels, func(sum []float32, i int, in []graph.Array) {
			kernel.AddScaledSumRows(sum, in[1].Float32[i], row(in[0], i, r.Positions*r.Channels), r.Channels)
		}),
	}, dz, w)
}
