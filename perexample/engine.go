package perexample

import (
	"fmt"
	"sync"

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

// Binding holds what serves one parameter in a private step.
type Binding struct {
	use    Use
	dz     *gorgonia.Node
	square norm
	work   float64          // multiply-adds that square takes
	stored func() []float32 // the gradients (B, Size) that square leaves; nil with the ghost engine

	orders             [][]uint64 // of an embedding with the ghost engine, see ordered
	squaredX, squaredZ []float64  // squared norms of the rows of x and dz, of a dense layer with the ghost engine
}

// NewBinding binds a use to an engine; dz is the gradient of the summed loss with respect to the
// use's output.
func NewBinding(b *graph.Builder, use Use, dz *gorgonia.Node, engine Engine) Binding {
	p := Binding{use: use, dz: dz}
	if !use.check(b, dz) {
		return p
	}
	batch, _ := rows(dz)
	pool, size, cost := b.Pool(), use.Rule.Size(), use.Rule.Cost()
	p.work = cost.GhostNorm
	if engine == Materialise {
		b.Keeps(4 * batch * size)
		p.stored = sync.OnceValue(func() []float32 { return make([]float32, batch*size) })
		p.square, p.work = formedNorm(pool, use.Rule.Former(pool), size, p.stored), cost.Form
		return p
	}
	switch rule := use.Rule.(type) {
	case DenseWeight:
		p.squaredX, p.squaredZ = make([]float64, batch), make([]float64, batch)
		p.square = func(_, i int, x, dz []float32) float64 {
			p.squaredX[i], p.squaredZ[i] = kernel.SumSquares(x), kernel.SumSquares(dz)
			return p.squaredX[i] * p.squaredZ[i]
		}
	case EmbeddingWeight:
		b.Keeps(8 * batch * rule.Positions)
		p.orders = make([][]uint64, batch)
		p.square = rule.ordered(pool, p.orders)
	case ConvWeight:
		if rule.Groups <= 1 {
			p.square = rule.gram(pool)
		}
	}
	if p.square == nil { // no norm without the gradient
		p.square = formedNorm(pool, use.Rule.Former(pool), 0, nil)
	}
	return p
}

// SquaredNorms adds the node of the squared norms of the parameter's gradients, float64, shape (B).
// With stored gradients it forms, measures and stores each piece of them while it is in the cache.
func (p Binding) SquaredNorms(b *graph.Builder) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	x := p.use.input(p.dz)
	batch, sizeZ := rows(p.dz)
	_, sizeX := rows(x)
	return b.Apply(graph.Operation{
		Name: p.use.Rule.name() + ": squared norms", Type: tensor.Float64, Shape: []int{batch},
		Work: int(p.work), Rows: func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			for i := lo; i < hi; i++ {
				out.Float64[i] = p.square(worker, i, row(in[0], i, sizeX), row(in[1], i, sizeZ))
			}
		},
	}, x, p.dz)
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

// Outputs returns the nodes whose values [Binding.Parts] reads.
func (p Binding) Outputs() []*gorgonia.Node {
	if p.stored != nil {
		return nil
	}
	return []*gorgonia.Node{p.use.Input, p.dz}
}

// Parts returns the gradients of the batch that e ran last, for a sum: one part, or several of a
// large embedding. After a later run they hold the gradients of that batch. e was compiled with the
// binding's Outputs.
func (p Binding) Parts(e *graph.Executor, pool *kernel.Pool) []clip.Part {
	if p.orders != nil {
		return p.use.Rule.(EmbeddingWeight).parts(pool, p.orders, e.Values(p.dz).Float32)
	}
	return []clip.Part{p.part(e, pool)}
}

// part returns the part of a parameter that has one: stored rows, the two factors of a dense layer,
// or rows that are formed when they are added.
func (p Binding) part(e *graph.Executor, pool *kernel.Pool) clip.Part {
	rule := p.use.Rule
	batch, sizeZ := rows(p.dz)
	if size := rule.Size(); p.stored != nil {
		return clip.Rows{Width: size, Examples: batch, Form: func(_, i int, emit func(piece []float32)) {
			emit(p.stored()[i*size : (i+1)*size])
		}}
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
	_, sizeX := rows(p.use.Input)
	form := rule.Former(pool)
	return clip.Rows{Width: rule.Size(), Examples: batch, Form: func(worker, example int, emit func(piece []float32)) {
		form(worker, nil, row(x, example, sizeX), row(dz, example, sizeZ), emit)
	}}
}

// Choose returns the faster engine for each rule at the given physical batch size, by a count of
// the work: the same for the same shapes, whatever else the machine does. Both engines form each
// gradient once, and the rest of the ghost engine is its norm, the rest of the other one the
// memory. Stored gradients take at most budget bytes together, given out in the order of the rules;
// a rule that does not fit uses the ghost engine.
func Choose(rules []Rule, batch int, budget int64) []Engine {
	engines := make([]Engine, len(rules))
	for i, r := range rules {
		bytes := 4 * int64(batch) * int64(r.Size())
		if bytes <= budget && r.Cost().GhostNorm*float64(batch) > byteCost(bytes)*float64(bytes) {
			engines[i] = Materialise
			budget -= bytes
		}
	}
	return engines
}

// Cost counts multiply-adds per example.
type Cost struct {
	GhostNorm float64 // for the squared norm without the gradient
	Form      float64 // for the gradient itself
}

// byteCost returns how many multiply-adds of a norm take as long as storing a byte of a gradient
// and reading it back, for so many bytes in all. BenchmarkEngines took 9 to 18 on two cores with
// AVX-512 or AVX2, and 3 to 8 where the bytes are few enough for caches. Between these the engines
// differ little.
func byteCost(bytes int64) float64 {
	const cacheBytes = 8 << 20
	if bytes <= cacheBytes {
		return 4
	}
	return 12
}
