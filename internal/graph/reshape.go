package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape is x under another shape with as many values: another name for the same memory, which
// takes none of its own and no time.
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

// memoryOf is the node whose memory n names: itself, or what it reshapes.
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
