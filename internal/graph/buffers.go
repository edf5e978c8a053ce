package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// topologicalOrder lists the nodes that the outputs need, each behind its inputs: in the order of
// their declaration, as a node is declared after its inputs.
func topologicalOrder(outputs []*gorgonia.Node) ([]*gorgonia.Node, error) {
	seen := map[*gorgonia.Node]bool{}
	var order []*gorgonia.Node
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		order = append(order, n)
		for _, in := range inputsOf(n) {
			visit(in)
		}
	}
	for i, out := range outputs {
		if out == nil {
			return nil, fmt.Errorf("graph: output %d is missing, expected a node of the graph", i)
		}
		visit(out)
	}
	slices.SortFunc(order, func(a, b *gorgonia.Node) int { return int(a.ID() - b.ID()) })
	return order, nil
}

// schedule moves the operations of the part early to the first place that their inputs allow, and
// leaves the others in their order. An operation that reads a large value once then runs while the
// value is in the cache, and its buffer is free again soon.
func schedule(order []*gorgonia.Node, early string) []*gorgonia.Node {
	done := map[*gorgonia.Node]bool{}
	scheduled := make([]*gorgonia.Node, 0, len(order))
	emit := func(n *gorgonia.Node) { done[n], scheduled = true, append(scheduled, n) }
	ready := func(n *gorgonia.Node) bool {
		return !done[n] && !slices.ContainsFunc(inputsOf(n), func(in *gorgonia.Node) bool { return !done[in] })
	}
	for i, n := range order {
		if !done[n] {
			emit(n)
		}
		for _, later := range order[i+1:] {
			if partOf(later) == early && ready(later) {
				emit(later)
			}
		}
	}
	return scheduled
}

// inputsOf lists the nodes whose memory n reads, in the order of its arguments. An argument that is
// a reshaped node counts as the node that it reshapes.
func inputsOf(n *gorgonia.Node) []*gorgonia.Node {
	var inputs []*gorgonia.Node
	for it := n.Graph().From(n.ID()); it.Next(); {
		inputs = append(inputs, memoryOf(it.Node().(*gorgonia.Node)))
	}
	return inputs
}

// bufferPlan hands out memory for the outputs of nodes and takes it back after the last reader.
type bufferPlan struct {
	inputs   map[*gorgonia.Node][]*gorgonia.Node
	readers  map[*gorgonia.Node]int    // operations that have still to read it; a requested output has one that never does
	held     map[*gorgonia.Node]buffer // memory of outputs that are still to be read
	lent     map[*gorgonia.Node]buffer // memory of inputs, for the first operation that works in place on them
	free     []buffer
	released []released              // free after the loop in the making, whose later blocks still read them
	made     map[*gorgonia.Node]bool // by the loop in the making
	floats   int

	sketched bool // whether buffers have a size but no memory
}

// buffer is memory for one output at a time; in a sketch it has a size but no memory.
type buffer struct {
	size   int
	values []float32
}

// released is a buffer that no later operation reads. If the loop itself wrote it, rows of another
// output of that size may lie where its rows lay: blocks read and write their own rows alone.
type released struct {
	buffer
	size int // of what the loop wrote, 0 for what lay there before
}

func newBufferPlan(order, outputs []*gorgonia.Node) *bufferPlan {
	p := &bufferPlan{
		inputs:  map[*gorgonia.Node][]*gorgonia.Node{},
		readers: map[*gorgonia.Node]int{},
		held:    map[*gorgonia.Node]buffer{},
		lent:    map[*gorgonia.Node]buffer{},
		made:    map[*gorgonia.Node]bool{},
	}
	for _, n := range order {
		p.inputs[n] = inputsOf(n)
		for _, in := range p.inputs[n] {
			p.readers[in]++
		}
	}
	for _, out := range outputs {
		p.readers[out]++
	}
	return p
}

// acquire returns memory for the output of n. Only float32 values, the bulk, share buffers.
func (p *bufferPlan) acquire(n *gorgonia.Node) Array {
	size := tensor.Shape(n.Shape()).TotalSize()
	if n.Dtype() != tensor.Float32 {
		p.floats += 2 * size
		if p.sketched {
			return Array{}
		}
		return newArray(n.Dtype(), size)
	}
	memory, ok := p.inherit(n, size)
	if !ok {
		memory = p.take(size)
	}
	p.held[n], p.made[n] = memory, true
	if p.sketched {
		return Array{}
	}
	return Array{Float32: memory.values[:size]}
}

// inherit hands an operation that may work in place the buffer of an input of its size that it is
// the last to read, if there is one.
func (p *bufferPlan) inherit(n *gorgonia.Node, size int) (buffer, bool) {
	if own, ok := n.Op().(*node); !(ok && own.InPlace) && !isSum(n) {
		return buffer{}, false
	}
	for _, in := range p.inputs[n] {
		memory, held := p.held[in]
		if !held {
			memory, held = p.lent[in]
		}
		if held && p.readers[in] == 1 && tensor.Shape(in.Shape()).TotalSize() == size {
			delete(p.held, in)
			delete(p.lent, in)
			return memory, true
		}
	}
	return buffer{}, false
}

// take takes a buffer that an output of the loop had, or the smallest free one that fits without
// wasting more than half of it, or makes one.
func (p *bufferPlan) take(size int) buffer {
	if i := slices.IndexFunc(p.released, func(r released) bool { return r.size == size }); i >= 0 {
		memory := p.released[i].buffer
		p.released = slices.Delete(p.released, i, i+1)
		return memory
	}
	best := -1
	for i, b := range p.free {
		if b.size >= size && b.size <= 2*size && (best < 0 || b.size < p.free[best].size) {
			best = i
		}
	}
	if best < 0 {
		p.floats += size
		if p.sketched {
			return buffer{size: size}
		}
		return buffer{size, make([]float32, size)}
	}
	b := p.free[best]
	p.free = slices.Delete(p.free, best, best+1)
	return b
}

// settle frees what was released, before a new loop: all rows of it have been read.
func (p *bufferPlan) settle() {
	for _, r := range p.released {
		p.free = append(p.free, r.buffer)
	}
	p.released = p.released[:0]
	clear(p.made)
}

// release lets go of the buffers of inputs that n was the last to read.
func (p *bufferPlan) release(n *gorgonia.Node) {
	for _, in := range p.inputs[n] {
		p.readers[in]--
		if memory, ok := p.held[in]; ok && p.readers[in] == 0 {
			size := 0
			if p.made[in] {
				size = tensor.Shape(in.Shape()).TotalSize()
			}
			p.released = append(p.released, released{memory, size})
			delete(p.held, in)
		}
	}
}
