package perexample

import (
	"fmt"

	"dpsgd/clip"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Engine is a way to compute norms and clipped sums of per-example gradients; both give the same
// norms to float32 rounding, and the same sums to what package clip says about its rounding.
type Engine int

const (
	// Ghost computes norms without per-example gradients.
	Ghost Engine = iota
	// Materialise computes and keeps per-example gradients.
	Materialise
)

func (e Engine) String() string {
	if e == Materialise {
		return "materialise"
	}
	return "ghost"
}

// MarshalText writes "ghost" or "materialise".
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText writes, and nothing else.
func (e *Engine) UnmarshalText(text []byte) error {
	for _, known := range []Engine{Ghost, Materialise} {
		if string(text) == known.String() {
			*e = known
			return nil
		}
	}
	return fmt.Errorf("perexample: found the engine %q, expected ghost or materialise", text)
}

// Binding holds the nodes of a graph that serve one parameter in a private step.
type Binding struct {
	use       Use
	dz        *gorgonia.Node
	gradients *gorgonia.Node // nil with the ghost engine

	squaredX, squaredZ []float64 // squared norms of the rows of x and dz, of a dense layer with the ghost engine
}

// NewBinding binds a use to an engine; dz is the gradient of the summed loss with respect to the
// use's output.
func NewBinding(b *graph.Builder, use Use, dz *gorgonia.Node, engine Engine) Binding {
	p := Binding{use: use, dz: dz}
	switch _, dense := use.Rule.(DenseWeight); {
	case engine == Materialise:
		p.gradients = use.gradients(b, dz)
	case dense && b.Err() == nil:
		batch, _ := rows(dz)
		p.squaredX, p.squaredZ = make([]float64, batch), make([]float64, batch)
	}
	return p
}

// SquaredNorms adds the node of the squared norms of the parameter's gradients, float64, shape (B).
func (p Binding) SquaredNorms(b *graph.Builder) *gorgonia.Node {
	if p.gradients != nil {
		return rowSquaredNorms(b, p.gradients)
	}
	square := p.use.Rule.norm(b.Pool())
	if p.squaredX != nil {
		square = func(_, i int, x, dz []float32) float64 {
			p.squaredX[i], p.squaredZ[i] = kernel.SumSquares(x), kernel.SumSquares(dz)
			return p.squaredX[i] * p.squaredZ[i]
		}
	}
	return p.use.squaredNorms(b, p.dz, square)
}

// SquaredNorms adds the nodes of squared norms, float64, shape (B): total over the parameters of
// all bindings, and each for one of them.
func SquaredNorms(b *graph.Builder, bindings []Binding) (total *gorgonia.Node, each []*gorgonia.Node) {
	if len(bindings) == 0 {
		b.Fail("squared norms: found no parameters, expected the binding of at least one")
	}
	for _, p := range bindings {
		each = append(each, p.SquaredNorms(b))
	}
	if b.Err() != nil {
		return nil, nil
	}
	total = b.Apply(graph.Operation{
		Name: "total-squared-norms", Type: tensor.Float64, Shape: each[0].Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			copy(out.Float64, in[0].Float64)
			for _, n := range in[1:] {
				for i, v := range n.Float64 {
					out.Float64[i] += v
				}
			}
		},
	}, each...)
	return total, each
}

// Outputs returns the nodes whose values [Binding.Part] reads.
func (p Binding) Outputs() []*gorgonia.Node {
	if p.gradients != nil {
		return []*gorgonia.Node{p.gradients}
	}
	return []*gorgonia.Node{p.use.Input, p.dz}
}

// Part returns the gradients of the batch that e ran last, for a sum: stored rows, the two factors
// of a dense layer, or rows that are formed when they are added. After a later run it holds the
// gradients of that batch. e was compiled with the binding's Outputs.
func (p Binding) Part(e *graph.Executor, pool *kernel.Pool) clip.Part {
	rule := p.use.Rule
	if p.gradients != nil {
		return clip.Stored(e.Values(p.gradients).Float32, rule.Size())
	}
	x, dz := e.Values(p.use.Input), e.Values(p.dz)
	switch rule := rule.(type) {
	case DenseWeight:
		return clip.Outer{
			X: x.Float32, Z: dz.Float32, In: rule.In, Out: rule.Out, SquaredX: p.squaredX, SquaredZ: p.squaredZ,
		}
	case Bias:
		if rule.Positions == 1 {
			return clip.Stored(dz.Float32, rule.Channels)
		}
	}
	batch, sizeZ := rows(p.dz)
	_, sizeX := rows(p.use.Input)
	form := rule.Former(pool)
	return clip.Rows{Width: rule.Size(), Examples: batch, Form: func(worker, example int, emit func(piece []float32)) {
		form(worker, row(x, example, sizeX), row(dz, example, sizeZ), emit)
	}}
}

// rowSquaredNorms adds the node of the squared norm of each row of g (B, n).
func rowSquaredNorms(b *graph.Builder, g *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	batch, n := rows(g)
	pool := b.Pool()
	return b.Apply(graph.Operation{
		Name: "row-squared-norms", Type: tensor.Float64, Shape: []int{batch},
		Run: graph.Parallel(pool, batch, graph.Grain(n), func(_, lo, hi int, out graph.Array, in []graph.Array) {
			for i := lo; i < hi; i++ {
				out.Float64[i] = kernel.SumSquares(in[0].Float32[i*n : (i+1)*n])
			}
		}),
	}, g)
}
