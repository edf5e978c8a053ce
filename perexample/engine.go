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

// Binding is one parameter's part of a private step, with the nodes that serve it.
type Binding struct {
	use       Use
	dz        *gorgonia.Node
	gradients *gorgonia.Node // nil with the ghost engine

	squaredX, squaredZ []float64 // of a dense layer, with the ghost engine
}

// NewBinding binds a use to an engine; dz is the gradient of the summed loss with respect to the
// use's output.
func NewBinding(b *graph.Builder, use Use, dz *gorgonia.Node, engine Engine) Binding {
	p := Binding{use: use, dz: dz}
	switch _, dense := use.Rule.(DenseWeight); {
	case engine == Materialise:
		p.gradients = use.Rule.Gradients(b, use.Input, dz)
	case dense && b.Err() == nil:
		batch, _ := rows(dz)
		p.squaredX, p.squaredZ = make([]float64, batch), make([]float64, batch)
	}
	return p
}

// SquaredNorms adds the node of squared norms, float64, shape (B).
func (p Binding) SquaredNorms(b *graph.Builder) *gorgonia.Node {
	if p.gradients != nil {
		return rowSquaredNorms(b, p.gradients)
	}
	if dense, ok := p.use.Rule.(DenseWeight); ok && dense.check(b, p.use.Input, p.dz) {
		return dense.squaredNorms(b, p.use.Input, p.dz, p.squaredX, p.squaredZ)
	}
	return p.use.Rule.SquaredNorms(b, p.use.Input, p.dz)
}

// SquaredNorms adds the node of squared norms over the parameters of all bindings, float64, shape
// (B), which is made of one such node for each of them.
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

// Outputs are the nodes whose values [Binding.Part] reads.
func (p Binding) Outputs() []*gorgonia.Node {
	if p.gradients != nil {
		return []*gorgonia.Node{p.gradients}
	}
	return []*gorgonia.Node{p.use.Input, p.dz}
}

// Part is the gradients of the batch that e ran last, and of every later one, for a sum: stored
// rows, the two factors of a dense layer's, or rows that are formed when they are added. e was
// compiled with the binding's Outputs.
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

// gradients adds the node that stores the gradients of all examples.
func gradients(b *graph.Builder, name string, r Rule, x, dz *gorgonia.Node) *gorgonia.Node {
	batch, sizeZ := rows(dz)
	_, sizeX := rows(x)
	form, pool, size := r.Former(b.Pool()), b.Pool(), r.Size()
	writers := newWriters(pool)
	return b.Apply(graph.Operation{
		Name: name, Type: tensor.Float32, Shape: []int{batch, size},
		Run: graph.Parallel(pool, batch, graph.Grain(max(size, sizeX, sizeZ)), func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			w := &writers[worker]
			for i := lo; i < hi; i++ {
				w.rest = row(out, i, size)
				form(worker, row(in[0], i, sizeX), row(in[1], i, sizeZ), w.emit)
			}
		}),
	}, x, dz)
}

// writer writes the pieces of a gradient one after the other.
type writer struct {
	rest []float32 // of the row
	emit func(piece []float32)
}

// newWriters returns one for each worker of a pool.
func newWriters(pool *kernel.Pool) []writer {
	writers := make([]writer, pool.Threads())
	for i := range writers {
		writers[i].emit = writers[i].write
	}
	return writers
}

func (w *writer) write(piece []float32) { w.rest = w.rest[copy(w.rest, piece):] }

// formedSquaredNorms adds the node of squared norms for a rule that forms the gradients.
func formedSquaredNorms(b *graph.Builder, name string, r Rule, x, dz *gorgonia.Node) *gorgonia.Node {
	batch, sizeZ := rows(dz)
	_, sizeX := rows(x)
	pool, form := b.Pool(), r.Former(b.Pool())
	measurers := newMeasurers(pool)
	return b.Apply(graph.Operation{
		Name: name, Type: tensor.Float64, Shape: []int{batch},
		Run: graph.Parallel(pool, batch, 1, func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			m := &measurers[worker]
			for i := lo; i < hi; i++ {
				m.square = 0
				form(worker, row(in[0], i, sizeX), row(in[1], i, sizeZ), m.emit)
				out.Float64[i] = m.square
			}
		}),
	}, x, dz)
}

// measurer adds up the squares of the pieces of a gradient.
type measurer struct {
	square float64
	emit   func(piece []float32)
}

// newMeasurers returns one for each worker of a pool.
func newMeasurers(pool *kernel.Pool) []measurer {
	measurers := make([]measurer, pool.Threads())
	for i := range measurers {
		measurers[i].emit = measurers[i].add
	}
	return measurers
}

func (m *measurer) add(piece []float32) { m.square += kernel.SumSquares(piece) }

// rowSquaredNorms is the squared norm of each row of g (B, n).
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

// weightedRowSum is Σᵢ wᵢ gᵢ over the rows of g (B, n); rows of weight 0 are not read.
func weightedRowSum(b *graph.Builder, g, w *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil || !sameBatch(b, "weighted sum", g, w) {
		return nil
	}
	batch, n := rows(g)
	pool := b.Pool()
	return b.Apply(graph.Operation{
		Name: "weighted-row-sum", Type: tensor.Float32, Shape: []int{n},
		// Columns are split, not rows: the sum is the same for any number of threads.
		Run: graph.Parallel(pool, n, strip, func(_, lo, hi int, out graph.Array, in []graph.Array) {
			for ; lo < hi; lo += strip {
				end := min(lo+strip, hi)
				sum := out.Float32[lo:end]
				clear(sum)
				for i, weight := range in[1].Float32[:batch] {
					if weight != 0 {
						kernel.Axpy(sum, weight, in[0].Float32[i*n+lo:i*n+end])
					}
				}
			}
		}),
	}, g, w)
}

// strip counts the values of a sum that stay in the first-level cache while examples pass.
const strip = 2048

// sumOverExamples is the Run of a weighted sum of size values: accumulate adds what example i
// gives, times its weight, to sum. The weights are the last input; an example of weight 0 is left
// out. The examples are split into a fixed number of partial sums, so that the result does not
// depend on the number of threads.
func sumOverExamples(pool *kernel.Pool, batch, size int, accumulate func(sum []float32, i int, in []graph.Array)) func(graph.Array, []graph.Array) {
	parts := min(batch, sumParts)
	sums := make([]float32, parts*size)
	partial := graph.Parallel(pool, parts, 1, func(_, lo, hi int, _ graph.Array, in []graph.Array) {
		weights := in[len(in)-1].Float32
		for part := lo; part < hi; part++ {
			sum := sums[part*size : (part+1)*size]
			clear(sum)
			for i := part * batch / parts; i < (part+1)*batch/parts; i++ {
				if weights[i] != 0 {
					accumulate(sum, i, in)
				}
			}
		}
	})
	return func(out graph.Array, in []graph.Array) {
		partial(out, in)
		clear(out.Float32)
		for part := range parts {
			kernel.Axpy(out.Float32, 1, sums[part*size:(part+1)*size])
		}
	}
}

// sumParts is enough work units for many cores, and little memory.
const sumParts = 16

// rows splits a node's shape into the batch and the values per example.
func rows(n *gorgonia.Node) (batch, values int) {
	s := n.Shape()
	return s[0], s.TotalSize() / s[0]
}

// expect fails the builder unless n holds that many values per example.
func expect(b *graph.Builder, rule, what string, n *gorgonia.Node, values int) bool {
	if b.Err() != nil || n == nil {
		return false
	}
	if _, found := rows(n); found != values {
		b.Fail("%s: %s has %d values per example (shape %v), expected %d", rule, what, found, n.Shape(), values)
		return false
	}
	return true
}

// sameBatch fails the builder unless the second node has a row for each row of the first.
func sameBatch(b *graph.Builder, rule string, first, second *gorgonia.Node) bool {
	if b.Err() != nil || first == nil || second == nil {
		return false
	}
	examples, _ := rows(first)
	if found, _ := rows(second); found != examples {
		b.Fail("%s: found %d examples (shape %v), expected %d", rule, found, second.Shape(), examples)
		return false
	}
	return true
}
