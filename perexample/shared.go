package perexample

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Shared is the rule of a parameter that several layers use. An example's gradient is the sum over
// the uses, whose norm does not follow from their norms, so that both engines form it. Its x and dz
// are those of the uses, one after the other, for each of its Views.
type Shared struct {
	Rules []Rule // none of them Bias
	Views int
}

func (r Shared) Size() int              { return r.Rules[0].Size() }
func (r Shared) OfViews(views int) Rule { return Shared{r.Rules, r.Views * views} }

func (r Shared) Values() (x, dz int) {
	for _, rule := range r.Rules {
		ofX, ofZ := rule.Values()
		x, dz = x+r.Views*ofX, dz+r.Views*ofZ
	}
	return x, dz
}

func (r Shared) Cost() (c Cost) {
	for _, rule := range r.Rules {
		c.Form += float64(r.Views) * (rule.Cost().Form + float64(r.Size()))
	}
	return Cost{GhostNorm: c.Form, Form: c.Form}
}

func (r Shared) name() string { return "shared" }

func (r Shared) Former(pool *kernel.Pool) Former {
	formers := make([]Former, len(r.Rules))
	for i, rule := range r.Rules {
		formers[i] = rule.Former(pool)
	}
	return whole(pool, r.Size(), func(worker int, g, x, dz []float32) {
		clear(g)
		for i := range r.Views * len(r.Rules) {
			rule := i % len(r.Rules)
			ofX, ofZ := r.Rules[rule].Values()
			rest := g
			formers[rule](worker, nil, x[:ofX], dz[:ofZ], func(piece []float32) {
				kernel.Axpy(rest[:len(piece)], 1, piece)
				rest = rest[len(piece):]
			})
			x, dz = x[ofX:], dz[ofZ:]
		}
	})
}

// weightedSum adds up whole examples, one after the other: a partial sum would be a parameter.
func (r Shared) weightedSum(pool *kernel.Pool, batch int) func(graph.Array, []graph.Array) {
	g, form := make([]float32, r.Size()), r.Former(pool)
	ofX, ofZ := r.Values()
	return func(out graph.Array, in []graph.Array) {
		clear(out.Float32)
		for i, weight := range in[2].Float32[:batch] {
			if weight != 0 {
				form(0, g, row(in[0], i, ofX), row(in[1], i, ofZ), func([]float32) {})
				kernel.Axpy(out.Float32, weight, g)
			}
		}
	}
}

// Backpropagate declares the gradients of Σᵢ weightsᵢ·lossesᵢ with respect to the outputs of uses.
// It returns the uses with one for each parameter, and a gradient for each of these.
func Backpropagate(b *graph.Builder, losses, weights *gorgonia.Node, uses []Use) ([]Use, []*gorgonia.Node) {
	var outputs []*gorgonia.Node
	for _, u := range uses {
		outputs = append(outputs, u.Output)
		for _, also := range u.Also {
			outputs = append(outputs, also.Output)
		}
	}
	all := b.Backpropagate(losses, weights, outputs)
	if b.Err() != nil {
		return nil, nil
	}
	joined, dz := make([]Use, len(uses)), make([]*gorgonia.Node, len(uses))
	for i, u := range uses {
		joined[i], dz[i] = u.join(b, all[:1+len(u.Also)])
		all = all[1+len(u.Also):]
	}
	return joined, dz
}

// join returns one use in place of u and the further ones of its parameter, and the gradient that
// belongs to it, made of those that belong to them.
func (u Use) join(b *graph.Builder, dz []*gorgonia.Node) (Use, *gorgonia.Node) {
	if len(u.Also) == 0 {
		return u, dz[0]
	}
	shared, inputs := Shared{Rules: []Rule{u.Rule}, Views: 1}, []*gorgonia.Node{u.Input}
	for _, also := range u.Also {
		shared.Rules, inputs = append(shared.Rules, also.Rule), append(inputs, also.Input)
	}
	return Use{Parameter: u.Parameter, Rule: shared, Input: beside(b, inputs), Output: u.Output}, beside(b, dz)
}

// beside returns a node (B, values) with the values of all nodes, example by example.
func beside(b *graph.Builder, nodes []*gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	total := 0
	for _, n := range nodes {
		_, values := rows(n)
		total += values
	}
	batch, _ := rows(nodes[0])
	return b.Apply(graph.Operation{
		Name: "beside", Type: tensor.Float32, Shape: []int{batch, total},
		Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			for i := lo; i < hi; i++ {
				to := row(out, i, total)
				for _, a := range in {
					to = to[copy(to, row(a, i, len(a.Float32)/batch)):]
				}
			}
		},
	}, nodes...)
}

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
