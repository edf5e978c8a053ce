package model

import (
	"fmt"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// maxSquaredNorm is the largest squared norm of a valid example: the square of each value still
// fits a float32. Real examples have values near 1; one beyond this is broken, like one with a NaN.
const maxSquaredNorm = 0x1p124

// validity returns the mask (B) with 0 also for the examples of x whose squared norm is NaN or
// above maxSquaredNorm.
func (p *Pass) validity(x, mask *gorgonia.Node) *gorgonia.Node {
	batch := x.Shape()[0]
	n := x.Shape().TotalSize() / batch
	return p.Apply(graph.Operation{
		Name: "validity", Type: tensor.Float32, Shape: []int{batch},
		Grain: graph.Grain(n), Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			for i := lo; i < hi; i++ {
				out.Float32[i] = in[1].Float32[i]
				if !(kernel.SumSquares(in[0].Float32[i*n:(i+1)*n]) <= maxSquaredNorm) { // true for NaN
					out.Float32[i] = 0
				}
			}
		},
	}, x, mask)
}

// onlyValid returns x with zeros for the examples outside the mask.
func (p *Pass) onlyValid(x, mask *gorgonia.Node) *gorgonia.Node {
	return p.perExample(inPlace, "only-valid", x.Shape(), func(out, x, mask []float32) {
		n := len(out) / len(mask)
		for i, m := range mask {
			if from, to := x[i*n:(i+1)*n], out[i*n:(i+1)*n]; m == 0 {
				clear(to)
			} else if &from[0] != &to[0] {
				copy(to, from)
			}
		}
	}, nil, x, mask)
}

// crossEntropy returns the softmax cross-entropy of each example, shape (B), for logits (B,
// classes) and labels (B). It refuses logits of another shape. Its gradient is scaled row by row by
// the gradient that arrives; a row scaled by 0 is exactly 0.
func (p *Pass) crossEntropy(logits, labels *gorgonia.Node) *gorgonia.Node {
	s, classes := logits.Shape(), p.model.classes
	if len(s) != 2 || s[1] != classes {
		problem := fmt.Sprintf("the last layer gives shape %v per example, expected %d values, one for each class", []int(s[1:]), classes)
		p.Fail("%w", &LayerError{p.last(), problem})
		return nil
	}
	batch := s[0]
	gradients := make([]float32, batch*classes) // written with the losses
	return p.Apply(graph.Operation{
		Name: "cross-entropy", Type: tensor.Float32, Shape: []int{batch},
		Grain: lossGrain, Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			kernel.SoftmaxCrossEntropy(out.Float32[lo:hi], gradients[lo*classes:hi*classes], in[0].Float32[lo*classes:hi*classes], in[1].Int32[lo:hi], classes)
		},
		Gradient: func(inputs []*gorgonia.Node, losses, weights *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "cross-entropy-gradient", Type: tensor.Float32, Shape: []int{batch, classes},
				Run: func(out graph.Array, in []graph.Array) { scaleRows(out.Float32, gradients, in[0].Float32, classes) },
			}, weights, losses), nil}
		},
	}, logits, labels)
}

// lossGrain is the smallest number of losses worth handing to a worker.
const lossGrain = 32

// scaleRows writes weights[i] times row i of x to dst: zeros for a weight of 0, whatever x holds.
func scaleRows(dst, x, weights []float32, columns int) {
	for i, w := range weights {
		row := dst[i*columns : (i+1)*columns]
		if w == 0 {
			clear(row) // 0·NaN would be NaN
			continue
		}
		for j, v := range x[i*columns : (i+1)*columns] {
			row[j] = w * v
		}
	}
}
