package model

import (
	"fmt"
	"math"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

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
		Work: n, Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
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

// Learnt says what a network learns about an example. All of it is public.
type Learnt struct {
	Loss    Loss
	Weights []float64 // of each class or label in the loss; nil is 1 for each
	// Low and High bound the numbers that are learnt: the network sees them scaled to [-1, 1], and a
	// number beyond a bound counts as the bound.
	Low, High float64
}

// Loss measures how far the outputs of a network are from what is to be learnt.
type Loss interface {
	Name() string
	// Task says of what sort of target the loss is.
	Task() data.Task
	// Rows writes the loss of each row, and its gradient with respect to the outputs (rows,
	// outputs). A row depends on nothing but its outputs and targets (rows, targets).
	Rows(l *Learnt, losses, gradients, outputs, targets []float32)
}

// Losses lists the losses that a configuration can name, the default first.
func Losses() setting.Kinds[Loss] {
	return setting.Kinds[Loss]{crossEntropy, binary, squared, huber}
}

// Learn makes the network learn by another loss than plain cross-entropy. It refuses weights of
// another number than the outputs or not above 0, and bounds of numbers that are none.
func (m *Model) Learn(l Learnt) error {
	task := l.Loss.Task()
	switch {
	case l.Weights != nil && (task == data.Number || len(l.Weights) != m.classes):
		return fmt.Errorf("model: %d weights with the loss %s, expected one for each of %d classes or labels", len(l.Weights), l.Loss.Name(), m.classes)
	case slices.ContainsFunc(l.Weights, func(w float64) bool { return !(w > 0 && w <= MaxWeight) }):
		return fmt.Errorf("model: the weights %v, expected numbers above 0 and at most %g", l.Weights, float64(MaxWeight))
	case task == data.Number && !(l.Low < l.High && l.High-l.Low <= math.MaxFloat32):
		return fmt.Errorf("model: numbers between %v and %v, expected finite bounds, the lower one first", l.Low, l.High)
	}
	m.learnt = l
	return nil
}

// MaxWeight bounds the weight of a class: the gradient of every example stays finite.
const MaxWeight = 1e6

// Learnt returns what the network learns.
func (m *Model) Learnt() Learnt { return m.learnt }

// targets returns how many numbers are learnt about an example: the index of its class, or one for
// each output.
func (m *Model) targets() int {
	if m.learnt.Loss.Task() == data.Class {
		return 1
	}
	return m.classes
}

// loss returns the loss of each example, shape (B), for outputs (B, outputs) and targets (B,
// targets). It refuses outputs of another shape. Its gradient is scaled row by row by the gradient
// that arrives; a row scaled by 0 is exactly 0.
func (p *Pass) loss(outputs, targets *gorgonia.Node) *gorgonia.Node {
	s, width, numbers := outputs.Shape(), p.model.classes, p.model.targets()
	if len(s) != 2 || s[1] != width {
		problem := fmt.Sprintf("the last layer gives shape %v per example, expected %d values, one for each class", []int(s[1:]), width)
		p.Fail("%w", &LayerError{p.last(), problem})
		return nil
	}
	batch, learnt := s[0], p.model.learnt
	gradients := make([]float32, batch*width) // written with the losses
	return p.Apply(graph.Operation{
		Name: learnt.Loss.Name(), Type: tensor.Float32, Shape: []int{batch},
		Work: lossWork, Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			learnt.Loss.Rows(&learnt, out.Float32[lo:hi], gradients[lo*width:hi*width], in[0].Float32[lo*width:hi*width], in[1].Float32[lo*numbers:hi*numbers])
		},
		Gradient: func(inputs []*gorgonia.Node, losses, weights *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: learnt.Loss.Name() + "-gradient", Type: tensor.Float32, Shape: []int{batch, width},
				Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
					scaleRows(out.Float32[lo*width:hi*width], gradients[lo*width:hi*width], in[0].Float32[lo:hi], width)
				},
			}, weights, losses), nil}
		},
	}, outputs, targets)
}

// lossWork is about how many values take as long to write as a loss.
const lossWork = 256

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
