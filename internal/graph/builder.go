// Package graph is the one place that talks to Gorgonia about custom operations and node identity.
//
// A [Builder] declares an expression graph: inputs, parameters, and [Operation]s that run on raw
// slices. After the first failure every call returns nil, and one [Builder.Err] at the end tells
// what went wrong first.
//
// Differentiation is Gorgonia's ([Builder.Backpropagate]). Execution is ours: an [Executor] runs
// the nodes that the requested outputs need, in topological order, in buffers that are planned once
// and reused while the graph runs. Gorgonia's own tape machine pays about 10 µs a node, allocates
// as it goes, and runs operations in goroutines that a caller cannot recover from.
//
// # Traps of Gorgonia v0.9.18 that this package keeps away from the others
//
//   - Nodes are merged when type, shape, name or operation hash, and children agree. Every
//     Operation gets a serial number that goes into its hash, and every input name may be used
//     once.
//   - Grad refuses intermediate nodes, Backpropagate accepts them: gradients are taken with respect
//     to the outputs of layers, never with respect to parameters (their gradient would already be
//     summed over the examples).
package graph

import (
	"errors"
	"fmt"
	"slices"

	"dpsgd/internal/kernel"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ErrDeclaration matches every error of a Builder.
var ErrDeclaration = errors.New("graph: the network cannot be declared")

// Builder declares one expression graph. Its first error is kept, later calls do nothing. It is not
// safe for concurrent use.
type Builder struct {
	graph   *gorgonia.ExprGraph
	pool    *kernel.Pool
	leaves  map[*gorgonia.Node]Array // inputs and parameters
	inputs  map[*gorgonia.Node]bool
	names   map[string]bool
	tracked map[*gorgonia.Node]bool
	serial  int
	part    string
	early   string // see Early

	sketched bool // whether nothing has memory, see NewSketch
	held     int  // bytes that operations keep beside their outputs, see Keeps

	differentiated bool
	err            error
}

// NewBuilder starts an empty graph whose operations run on the pool; nil runs them on the caller.
func NewBuilder(pool *kernel.Pool) *Builder {
	return &Builder{
		graph:   gorgonia.NewGraph(),
		pool:    pool,
		leaves:  map[*gorgonia.Node]Array{},
		inputs:  map[*gorgonia.Node]bool{},
		names:   map[string]bool{},
		tracked: map[*gorgonia.Node]bool{},
	}
}

// NewSketch starts a graph that is declared to see what it would need: nothing in it has memory,
// and it cannot run.
func NewSketch() *Builder {
	b := NewBuilder(nil)
	b.sketched = true
	return b
}

// Keeps notes that an operation keeps so many bytes from one of its runs to the next.
func (b *Builder) Keeps(bytes int) { b.held += bytes }

// Pool returns the workers that run the loops of operations; nil stands for the caller alone.
func (b *Builder) Pool() *kernel.Pool { return b.pool }

// Part names the part of the step that the operations declared from now on belong to, for
// [Executor.Profile]. Operations that [Builder.Backpropagate] declares belong to "backward"
// whatever the name.
func (b *Builder) Part(name string) { b.part = name }

// Early names a part whose operations run as soon as their inputs are computed, before other parts
// go on. All other operations run in the order of their declaration.
func (b *Builder) Early(part string) { b.early = part }

// Err returns the first error, nil while all is well. It matches [ErrDeclaration].
func (b *Builder) Err() error { return b.err }

// Fail records an error unless there is one already.
func (b *Builder) Fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%w: %w", ErrDeclaration, fmt.Errorf(format, args...))
	}
}

// Input declares a leaf of the graph. The caller writes its memory, which [Builder.Values] returns,
// before each run of an [Executor]: operations that work in place may overwrite it.
func (b *Builder) Input(name string, t tensor.Dtype, shape ...int) *gorgonia.Node {
	if !b.checkShape(name, shape) {
		return nil
	}
	var values Array
	if !b.sketched {
		values = newArray(t, tensor.Shape(shape).TotalSize())
	}
	n := b.leaf(name, t, shape, values)
	b.inputs[n] = true
	return n
}

// Parameter declares a trainable leaf over memory that the caller owns, row-major in the given
// shape.
func (b *Builder) Parameter(name string, values []float32, shape ...int) *gorgonia.Node {
	if !b.checkShape(name, shape) {
		return nil
	}
	if size := tensor.Shape(shape).TotalSize(); size != len(values) && !b.sketched {
		b.Fail("parameter %s has %d values, expected %d for shape %v", name, len(values), size, shape)
		return nil
	}
	return b.leaf(name, tensor.Float32, shape, Array{Float32: values})
}

// checkShape fails unless all sizes are positive: Gorgonia panics on empty tensors, in part when
// they run.
func (b *Builder) checkShape(name string, shape []int) bool {
	for _, size := range shape {
		if size < 1 {
			b.Fail("leaf %s has shape %v, expected positive sizes", name, shape)
		}
	}
	return b.err == nil
}

func (b *Builder) leaf(name string, t tensor.Dtype, shape []int, values Array) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	// Gorgonia would silently merge two leaves of one name and shape.
	if b.names[name] {
		b.Fail("two leaves are named %q, expected one", name)
		return nil
	}
	b.names[name] = true
	n := gorgonia.NewTensor(b.graph, t, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	b.leaves[n] = values
	return n
}

// Values returns the memory of an input or parameter.
func (b *Builder) Values(leaf *gorgonia.Node) Array { return b.leaves[leaf] }

// Apply adds an operation to the graph. Its output is tracked (gradients flow to it) when one of
// its inputs is and the operation is differentiable; see [Builder.Track].
func (b *Builder) Apply(op Operation, inputs ...*gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	for i, in := range inputs {
		if in == nil || in.Graph() != b.graph {
			b.Fail("%s: its input %d is missing, expected a node of this graph", op.Name, i)
			return nil
		}
	}
	b.serial++
	n := &node{Operation: op, serial: b.serial, part: b.part, inputs: make([]hm.Type, len(inputs)), tracked: make([]bool, len(inputs))}
	for i, in := range inputs {
		n.inputs[i] = valueType(in.Dtype(), in.Shape().Dims())
		n.tracked[i] = op.Gradient != nil && b.tracked[in]
	}
	out, err := gorgonia.ApplyOp(n, inputs...)
	if err != nil {
		b.Fail("%s: %w", op.Name, err)
		return nil
	}
	gorgonia.WithName(fmt.Sprintf("%s#%d", op.Name, b.serial))(out)
	if slices.Contains(n.tracked, true) {
		b.tracked[out] = true
	}
	return out
}

// Track marks the output of an operation with parameters: gradients of the loss flow back to it.
func (b *Builder) Track(n *gorgonia.Node) {
	if n != nil {
		b.tracked[n] = true
	}
}

// Tracked reports whether gradients flow to n. None flow to the input of the first layer, so that
// its gradient, which nobody needs, is never computed.
func (b *Builder) Tracked(n *gorgonia.Node) bool { return b.tracked[n] }

// backward is the name of the part that differentiation declares, Gorgonia's own operations
// included.
const backward = "backward"

// Backpropagate returns the gradients of Σᵢ weightsᵢ·outputᵢ with respect to the given nodes, which
// may be intermediate. output and weights have one shape. A graph is differentiated once: Gorgonia
// keeps the gradients of the first time and would answer with them again, whatever the weights.
func (b *Builder) Backpropagate(output, weights *gorgonia.Node, withRespectTo []*gorgonia.Node) []*gorgonia.Node {
	if b.err != nil {
		return nil
	}
	if b.differentiated {
		b.Fail("backpropagation: the graph is differentiated already, expected one call")
		return nil
	}
	b.differentiated = true
	defer b.Part(b.part)
	b.Part(backward)
	gradients, err := gorgonia.Backpropagate(gorgonia.Nodes{output}, gorgonia.Nodes{weights}, withRespectTo)
	if err != nil {
		b.Fail("backpropagation: %w", err)
		return nil
	}
	return gradients
}

// Reshape returns x under another shape with as many values. It is another name for the same
// memory: it takes no memory of its own and no time.
func (b *Builder) Reshape(x *gorgonia.Node, shape ...int) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	if x == nil || x.Shape().TotalSize() != tensor.Shape(shape).TotalSize() {
		b.Fail("reshape: its input is %v, expected a node with as many values as the shape %v", x, shape)
		return nil
	}
	n := b.Apply(Operation{Name: "reshape", Type: x.Dtype(), Shape: shape, Gradient: func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{b.Reshape(dy, x.Shape()...)}
	}}, x)
	if n != nil {
		n.Op().(*node).reshapes = x
	}
	return n
}

// memoryOf returns the node whose memory n names: n itself, or the node that it reshapes.
func memoryOf(n *gorgonia.Node) *gorgonia.Node {
	for n != nil {
		own, ok := n.Op().(*node)
		if !ok || own.reshapes == nil {
			break
		}
		n = own.reshapes
	}
	return n
}
