package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
)

// OfViews turns the use of a parameter by rows into its use by examples that fill so many
// consecutive rows each, their views: augmentation multiplicity (De et al., arXiv:2204.13650,
// section 3.2). Input and Output of u and dz have B·views rows; the returned ones have B, one per
// example. An example's gradient is the sum over its rows, so a dz that was scaled by 1/views leads
// to their mean.
func OfViews(b *graph.Builder, u Use, dz *gorgonia.Node, views int) (Use, *gorgonia.Node) {
	if views == 1 || b.Err() != nil {
		return u, dz
	}
	u.Rule = u.Rule.OfViews(views)
	u.Input, u.Output = perExample(b, u.Input, views), perExample(b, u.Output, views)
	return u, perExample(b, dz, views)
}

// perExample returns n with the rows of each example, views of them, joined into one row.
func perExample(b *graph.Builder, n *gorgonia.Node, views int) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	batch, values := rows(n)
	return b.Reshape(n, batch/views, views*values)
}

// SummedViews is the rule of a parameter if every example fills several rows, made of the rule for
// one row. Both engines form the sum of the gradients of the rows, because its norm does not follow
// from the norms of its terms.
type SummedViews struct {
	Rule interface {
		Rule
		// sumFormer returns the Former for examples of so many rows.
		sumFormer(pool *kernel.Pool, rows int) Former
	}
	Views int
}

func (r SummedViews) Size() int              { return r.Rule.Size() }
func (r SummedViews) OfViews(views int) Rule { return SummedViews{r.Rule, r.Views * views} }

func (r SummedViews) Values() (x, dz int) {
	x, dz = r.Rule.Values()
	return r.Views * x, r.Views * dz
}

func (r SummedViews) Cost() Cost {
	form := float64(r.Views) * r.Rule.Cost().Form
	return Cost{GhostNorm: form, Form: form}
}

func (r SummedViews) name() string                    { return "views" }
func (r SummedViews) Former(pool *kernel.Pool) Former { return r.Rule.sumFormer(pool, r.Views) }
func (r SummedViews) norm(pool *kernel.Pool) norm     { return formedNorm(pool, r.Former(pool), 0, nil) }

// weightedSum sums over all rows; each has the weight of its example.
func (r SummedViews) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	weights := make([]float32, batch*r.Views)
	sum := r.Rule.weightedSum(pool, len(weights))
	return func(out graph.Array, in []graph.Array) {
		for i := range weights {
			weights[i] = in[2].Float32[i/r.Views]
		}
		sum(out, []graph.Array{in[0], in[1], {Float32: weights}})
	}
}
