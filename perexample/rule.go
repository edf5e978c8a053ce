package perexample

import (
	"errors"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
)

// Rule computes per-example norms and weighted sums of gradients for one parameter of one layer. x
// is the layer's input and dz the gradient of the summed loss with respect to its output, both with
// the B examples of the physical batch as first dimension; the concrete rule says which shapes it
// expects.
type Rule interface {
	// Size is the number of values of the parameter.
	Size() int
	// Gradients adds the node of per-example gradients, shape (B, Size), in the parameter's memory
	// order.
	Gradients(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node
	// Former returns the function that forms the gradient of one example from its rows of the input
	// and of the output gradients.
	Former(pool *kernel.Pool) Former
	// SquaredNorms adds the node of squared L2 norms of the per-example gradients, float64, shape
	// (B), without forming the gradients.
	SquaredNorms(b *graph.Builder, x, dz *gorgonia.Node) *gorgonia.Node
	// WeightedSum adds the node of Σᵢ wᵢ gᵢ, shape (Size), for weights w of shape (B): float32 sums
	// without a bound, for training without privacy. An example of weight 0 adds exactly 0.
	WeightedSum(b *graph.Builder, x, dz, w *gorgonia.Node) *gorgonia.Node
	// OfViews returns the rule for examples that fill so many rows each: an example's gradient is
	// the sum over its rows.
	OfViews(views int) Rule
	// Values returns the numbers of values that x and dz have per example.
	Values() (x, dz int)
	// Cost tells the planner what the engines would cost.
	Cost() Cost
}

// Former calls emit with the gradient of one example, in pieces that follow each other in the
// parameter's memory order and last until emit returns. It runs on a worker of the pool.
type Former func(worker int, x, dz []float32, emit func(piece []float32))

// whole is the Former of a rule that writes the gradient of size values to g in one go.
func whole(size int, write func(worker int, g, x, dz []float32)) Former {
	scratch := graph.NewScratch(size)
	return func(worker int, x, dz []float32, emit func(piece []float32)) {
		g := scratch.For(worker)
		write(worker, g, x, dz)
		emit(g)
	}
}

// Use is one parameter at work in a graph: Output is computed from Input and the parameter.
type Use struct {
	Parameter     string // name, for messages
	Rule          Rule
	Input, Output *gorgonia.Node
}

// ErrNoRule marks a trainable parameter that no rule covers: its gradient could not be clipped.
var ErrNoRule = errors.New("perexample: parameter without a per-example rule")
