package graph

import (
	"fmt"
	"time"

	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Executor runs the part of a graph that the requested outputs need. It plans all buffers when it
// is made: two nodes share a buffer if the first is no longer read once the second is written. So
// it allocates nothing in a run (an operation's own Run may), and takes the memory of the widest
// moment of a step, not the sum over all nodes.
type Executor struct {
	loops  []*loop
	values map[*gorgonia.Node]Array // leaves and requested outputs
	floats int                      // planned buffers, in units of 4 bytes
	held   int                      // bytes that operations keep for themselves
	record func(part, name string, d time.Duration)
}

// Compile returns an Executor that computes the outputs, and no node that they do not need.
func (b *Builder) Compile(outputs ...*gorgonia.Node) (*Executor, error) {
	if b.err != nil {
		return nil, b.err
	}
	read := make([]*gorgonia.Node, len(outputs)) // the memory that is asked for
	for i, out := range outputs {
		read[i] = memoryOf(out)
	}
	order, err := topologicalOrder(read)
	if err != nil {
		return nil, err
	}
	order = schedule(order, b.early)
	plan := newBufferPlan(order, read)
	plan.sketched = b.sketched
	e := &Executor{values: map[*gorgonia.Node]Array{}}
	arrays := map[*gorgonia.Node]Array{}
	for _, n := range order {
		if leaf, ok := b.leaves[n]; ok {
			arrays[n], e.values[n] = leaf, leaf
			if b.inputs[n] {
				plan.lent[n] = buffer{n.Shape().TotalSize(), leaf.Float32}
			}
			continue
		}
		in := make([]Array, 0, len(plan.inputs[n]))
		for _, child := range plan.inputs[n] {
			in = append(in, arrays[child])
		}
		op, err := operationOf(n)
		if err != nil {
			return nil, err
		}
		l, joined := e.loopFor(op, plan.inputs[n], b.pool)
		if !joined {
			plan.settle()
		}
		arrays[n] = plan.acquire(n)
		plan.release(n)
		l.add(&instruction{node: n, part: partOf(n), op: op, out: arrays[n], in: in})
	}
	for i, out := range outputs {
		e.values[out] = arrays[read[i]]
	}
	e.floats, e.held = plan.floats, b.held
	return e, nil
}

// Values returns the memory of a leaf or of a requested output. The next run overwrites it.
func (e *Executor) Values(n *gorgonia.Node) Array {
	a, ok := e.values[n]
	if !ok {
		panic(fmt.Sprintf("graph: %v is neither a leaf nor a requested output", n))
	}
	return a
}

// Bytes returns the size of the planned buffers and of what operations keep for themselves, without
// inputs and parameters.
func (e *Executor) Bytes() int { return 4*e.floats + e.held }

// BytesOf returns the bytes that a graph of n examples takes, by those of one and of two, which of
// returns: some grow with the examples and others, such as packed weights, do not.
func BytesOf(n int, of func(examples int) (*Executor, error)) (float64, error) {
	one, err := of(1)
	if err != nil {
		return 0, err
	}
	two, err := of(2)
	if err != nil {
		return 0, err
	}
	return float64(one.Bytes()) + float64(n-1)*float64(two.Bytes()-one.Bytes()), nil
}

// RunAll runs the graph once.
func (e *Executor) RunAll() { e.RunFirst(1, 1) }

// RunFirst runs the graph once for the first n of the examples that its inputs hold, each in the
// same number of rows. Later rows of operations with Rows keep what an earlier run left there.
func (e *Executor) RunFirst(n, examples int) {
	for _, l := range e.loops {
		l.todo = l.rows
		if l.rows%examples == 0 {
			l.todo = l.rows / examples * n
		}
		l.run(e.record)
	}
}

// Profile makes every later run call record after each operation, with its part of the step (see
// [Builder.Part]), its name and the time that it took; nil ends that.
func (e *Executor) Profile(record func(part, name string, d time.Duration)) { e.record = record }

// partOf returns the part of the step that a node belongs to. Operations of Gorgonia's own come
// from differentiation.
func partOf(n *gorgonia.Node) string {
	if own, ok := n.Op().(*node); ok {
		return own.part
	}
	return backward
}

// operationOf returns the operation of a node: ours, or the sum of gradients that differentiation
// adds where branches meet.
func operationOf(n *gorgonia.Node) (Operation, error) {
	if own, ok := n.Op().(*node); ok {
		return own.Operation, nil
	}
	if !isSum(n) {
		return Operation{}, fmt.Errorf("graph: found the operation %v of Gorgonia's own, expected none but the sum of gradients", n.Op())
	}
	values := n.Shape().TotalSize() / n.Shape()[0]
	return Operation{Shape: n.Shape(), Rows: func(_, lo, hi int, out Array, in []Array) {
		lo, hi = lo*values, hi*values
		kernel.Add(out.Float32[lo:hi], in[0].Float32[lo:hi], in[1].Float32[lo:hi])
	}}, nil
}

// isSum reports whether a node is Gorgonia's sum of two float32 tensors, which may be reshaped nodes.
func isSum(n *gorgonia.Node) bool {
	if n.Op() == nil || n.Op().String() != "+ false" || n.Dtype() != tensor.Float32 {
		return false
	}
	in, size := inputsOf(n), n.Shape().TotalSize()
	return len(in) == 2 && in[0].Shape().TotalSize() == size && in[1].Shape().TotalSize() == size
}
