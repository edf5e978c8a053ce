package graph

import (
	"fmt"
	"hash"
	"hash/fnv"

	"dpsgd/internal/kernel"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Array is the raw memory of one node's value, row-major; exactly one field is set, by the node's
// type.
type Array struct {
	Float32 []float32
	Float64 []float64
	Int32   []int32
}

// newArray allocates memory for size values of type t.
func newArray(t tensor.Dtype, size int) Array {
	switch t {
	case tensor.Float32:
		return Array{Float32: make([]float32, size)}
	case tensor.Float64:
		return Array{Float64: make([]float64, size)}
	case tensor.Int32:
		return Array{Int32: make([]int32, size)}
	}
	panic(fmt.Sprintf("graph: arrays of type %v do not exist", t))
}

// Operation describes what one node of the graph computes.
type Operation struct {
	// Name is the name of the node in errors and pictures.
	Name string
	// Type and Shape describe the output; inputs are whatever Run expects.
	Type  tensor.Dtype
	Shape []int
	// Run overwrites every value of out. It is called once per run of the graph and may use
	// the builder's pool; out aliases none of in, unless InPlace is set.
	Run func(out Array, in []Array)
	// Rows takes the place of Run where row i of the output, counted along its first axis, is
	// computed from row i of each input, and from parameters. It computes rows [lo, hi) on a worker
	// of the builder's pool. Neighbours of as many rows run together, a block of rows after the
	// other, while these are in the cache.
	Rows func(worker, lo, hi int, out Array, in []Array)
	// Prepare, unless nil, is called before Rows. It reads none of the first input, whose rows may
	// not be computed yet.
	Prepare func(in []Array)
	// Grain is how many rows, or a multiple, Rows computes together at best; 0 is 1.
	Grain int
	// Work is how many values take as long to write as a row takes; 0 is the values of a row.
	Work int
	// InPlace says that out may be the memory of an input of the same size, as element-wise
	// operations allow.
	InPlace bool
	// Gradient returns, for each input, the node of the gradient of the loss with respect to that
	// input, or nil for an input that no gradient flows to. A nil func means that the operation is
	// not differentiable. It is called for inputs for which [Builder.Tracked] holds.
	Gradient func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node
}

// node adapts an Operation to Gorgonia's Op and SDOp.
type node struct {
	Operation
	serial   int            // makes the hash unique: equal operations are never merged
	part     string         // of the step, see Builder.Part
	inputs   []hm.Type      // exact types of the inputs
	tracked  []bool         // inputs that gradients flow to
	reshapes *gorgonia.Node // the node that it is another name of, see Builder.Reshape; nil in most nodes
}

var _ gorgonia.SDOp = (*node)(nil)

func (n *node) Arity() int { return len(n.inputs) }

func (n *node) Type() hm.Type {
	return hm.NewFnType(append(append([]hm.Type{}, n.inputs...), valueType(n.Operation.Type, len(n.Shape)))...)
}

func (n *node) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape(n.Shape).Clone(), nil
}

// Do is for Gorgonia's own machines, which do not run these graphs: an [Executor] does.
func (n *node) Do(...gorgonia.Value) (gorgonia.Value, error) {
	return nil, fmt.Errorf("graph: %s runs in an Executor alone", n.Name)
}

func (n *node) ReturnsPtr() bool      { return true }
func (n *node) CallsExtern() bool     { return false }
func (n *node) OverwritesInput() int  { return -1 }
func (n *node) String() string        { return n.Name }
func (n *node) WriteHash(h hash.Hash) { fmt.Fprintf(h, "dpsgd/%d/%s%v", n.serial, n.Name, n.Shape) }

func (n *node) Hashcode() uint32 {
	h := fnv.New32a()
	n.WriteHash(h)
	return h.Sum32()
}

func (n *node) DiffWRT(int) []bool { return n.tracked }

func (n *node) SymDiff(inputs gorgonia.Nodes, output, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	if n.Gradient == nil {
		return make(gorgonia.Nodes, len(inputs)), nil
	}
	gradients := n.Gradient(inputs, output, gradient)
	if len(gradients) != len(inputs) {
		return nil, fmt.Errorf("graph: the gradient of %s has %d parts, expected one for each of its %d inputs", n.Name, len(gradients), len(inputs))
	}
	for i, g := range gradients {
		if n.tracked[i] && g == nil {
			return nil, fmt.Errorf("graph: %s gives no gradient for its input %d, which depends on a parameter", n.Name, i)
		}
	}
	return gradients, nil
}

// valueType returns Gorgonia's type of a tensor with so many dimensions.
func valueType(t tensor.Dtype, dims int) hm.Type { return gorgonia.TensorType{Dims: dims, Of: t} }

// Parallel makes the Run of an operation that splits n work units among the workers of a pool; see
// [kernel.Pool.Run] for grain and worker. The loop is bound once, so that a run of the graph
// allocates nothing for it.
func Parallel(pool *kernel.Pool, n, grain int, body func(worker, lo, hi int, out Array, in []Array)) func(Array, []Array) {
	var out Array
	var in []Array
	loop := func(worker, lo, hi int) { body(worker, lo, hi, out, in) }
	return func(o Array, i []Array) {
		out, in = o, i
		pool.Run(n, grain, loop)
	}
}

// Grain returns how many work units, each of so many values, are worth handing to a worker.
func Grain(values int) int { return 1 + grainValues/max(values, 1) }

// grainValues is how many values take a few microseconds; waking a worker takes one or two.
const grainValues = 1 << 13

// Scratch is working memory of an operation: one float32 buffer for each worker of the pool,
// allocated when a worker first asks. A buffer holds anything.
type Scratch struct {
	size    int
	buffers [][]float32
}

// NewScratch returns a Scratch with buffers of size values, none of which is allocated yet.
func NewScratch(pool *kernel.Pool, size int) *Scratch {
	return &Scratch{size: size, buffers: make([][]float32, pool.Threads())}
}

// For returns the buffer of one worker, which it allocates when asked for the first time.
func (s *Scratch) For(worker int) []float32 {
	if s.buffers[worker] == nil {
		s.buffers[worker] = make([]float32, s.size)
	}
	return s.buffers[worker]
}
