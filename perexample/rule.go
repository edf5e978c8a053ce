package perexample

import (
	"errors"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Rule computes the gradient of an example with respect to one parameter of a layer from rows of x,
// the layer's input, and of dz, the gradient of the summed loss with respect to its output. The
// first dimension of both is the B examples of the physical batch.
type Rule interface {
	// Size returns the number of values of the parameter, as many as an example's gradient has.
	Size() int
	// Values returns how many values x and dz have for each example.
	Values() (x, dz int)
	// OfViews returns the rule for examples that fill so many rows each: an example's gradient is
	// the sum over its rows.
	OfViews(views int) Rule
	// Cost returns the multiply-adds that the engines take for one example.
	Cost() Cost
	// Former returns the function that forms the gradient of one example.
	Former(pool *kernel.Pool) Former
	// weightedSum returns the Run of [WeightedSum] for inputs x, dz and w.
	weightedSum(pool *kernel.Pool, batch int) func(out graph.Array, in []graph.Array)
	// name returns what the parameter is, for errors and for the names of operations.
	name() string
}

// Former calls emit with the gradient of one example, in pieces that follow each other in the
// parameter's memory order and last until emit returns. It writes the whole to g too, unless that
// is nil. It runs on a worker of the pool.
type Former func(worker int, g, x, dz []float32, emit func(piece []float32))

// norm computes the squared norm of the gradient of one example of the batch, on a worker of the
// pool.
type norm func(worker, example int, x, dz []float32) float64

// whole returns a Former that emits the gradient, size values that write writes to g, in one piece.
func whole(pool *kernel.Pool, size int, write func(worker int, g, x, dz []float32)) Former {
	scratch := graph.NewScratch(pool, size)
	return func(worker int, g, x, dz []float32, emit func(piece []float32)) {
		if g == nil {
			g = scratch.For(worker)
		}
		write(worker, g, x, dz)
		emit(g)
	}
}

// Use is one parameter at work in a graph: Output is computed from Input and the parameter.
type Use struct {
	Parameter     string // name, for messages
	Rule          Rule
	Input, Output *gorgonia.Node
	Also          []Use // further uses of the parameter, by other layers; see [Backpropagate]
}

// ErrNoRule marks a trainable parameter that no rule covers: its gradient could not be clipped.
var ErrNoRule = errors.New("perexample: parameter without a per-example rule")

// input returns the node that the rule reads as x. A bias has none and gets dz.
func (u Use) input(dz *gorgonia.Node) *gorgonia.Node {
	if _, bias := u.Rule.(Bias); bias {
		return dz
	}
	return u.Input
}

// check fails the builder, and returns false, unless input and dz have the shapes for the rule.
func (u Use) check(b *graph.Builder, dz *gorgonia.Node) bool {
	name, x := u.Rule.name(), u.input(dz)
	sizeX, sizeZ := u.Rule.Values()
	return (x == dz || expect(b, name, "the input", x, sizeX)) && expect(b, name, "the output", dz, sizeZ) && sameBatch(b, name, x, dz)
}

// WeightedSum adds the node of Σᵢ wᵢ gᵢ, shape (Size), for weights w of shape (B): float32 sums
// without a bound, for training without privacy. An example of weight 0 adds exactly 0.
func WeightedSum(b *graph.Builder, u Use, dz, w *gorgonia.Node) *gorgonia.Node {
	if !u.check(b, dz) || !sameBatch(b, u.Rule.name(), dz, w) {
		return nil
	}
	return b.Apply(graph.Operation{
		Name: u.Rule.name() + ": weighted sum", Type: tensor.Float32, Shape: []int{u.Rule.Size()},
		Run: u.Rule.weightedSum(b.Pool(), dz.Shape()[0]),
	}, u.input(dz), dz, w)
}

// formedNorm returns the norm that has form form the gradient, and measures each piece while it is
// in the cache. The gradient is stored in the example's row of stored (B, size), unless that is nil.
func formedNorm(pool *kernel.Pool, form Former, size int, stored func() []float32) norm {
	measurers := make([]measurer, pool.Threads())
	for i := range measurers {
		measurers[i].emit = measurers[i].add
	}
	return func(worker, example int, x, dz []float32) float64 {
		var g []float32
		if stored != nil {
			g = stored()[example*size : (example+1)*size]
		}
		m := &measurers[worker]
		m.square = 0
		form(worker, g, x, dz, m.emit)
		return m.square
	}
}

// measurer adds up the squares of the pieces of a gradient.
type measurer struct {
	square float64
	emit   func(piece []float32)
}

func (m *measurer) add(piece []float32) { m.square += kernel.SumSquares(piece) }

// sumOverExamples returns the Run of a weighted sum of size values: accumulate adds the gradient of
// example i, times its weight, to sum. The weights are the last input; an example of weight 0 is
// left out. Examples are split into a fixed number of partial sums, so that the result does not
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

// sumParts is the number of partial sums: enough for many cores, and little memory.
const sumParts = 16

// row returns the values of example i in an array with so many values for each.
func row(a graph.Array, i, values int) []float32 { return a.Float32[i*values : (i+1)*values] }

// rows splits a node's shape into the batch and the values per example.
func rows(n *gorgonia.Node) (batch, values int) {
	s := n.Shape()
	return s[0], s.TotalSize() / s[0]
}

// expect fails the builder, and returns false, unless n holds that many values per example.
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

// sameBatch fails the builder, and returns false, unless both nodes have the same number of rows.
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
