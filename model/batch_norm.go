package model

import (
	"math"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FrozenBatchNorm scales and shifts each channel of a picture by constants that come with given
// weights: (x - running_mean)/√(running_var + Eps)·weight + bias. They are never trained, and nothing
// is computed over a batch, so that every example stays by itself. PyTorch: nn.BatchNorm2d in
// evaluation mode, and its names.
type FrozenBatchNorm struct{ Eps float64 }

var frozenBatchNorm = kind("Batch normalisation as given weights have it: constants, never trained.",
	func() Layer { return &FrozenBatchNorm{normEpsilon} }, "frozen_batch_norm2d")

func (l *FrozenBatchNorm) Arguments() []setting.Argument { return []setting.Argument{eps(&l.Eps)} }

func (FrozenBatchNorm) Kind() string { return "frozen_batch_norm" }

// Epsilon returns what is added to variances.
func (l FrozenBatchNorm) Epsilon() float64 { return epsilonOf(l.Eps) }

func (l FrozenBatchNorm) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, _, _, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	shape := []int{channels}
	weight, bias := p.constant(Parameter{Name: "weight", Shape: shape}, 1), p.constant(Parameter{Name: "bias", Shape: shape}, 0)
	mean := p.constant(Parameter{Name: "running_mean", Shape: shape}, 0)
	variance := p.constant(Parameter{Name: "running_var", Shape: shape, variance: true}, 1)
	gain, shift := make([]float32, channels), make([]float32, channels)
	// scale sets gain from the weights and variances, which a file may have replaced.
	scale := func(weights, variances []float32) {
		for i, v := range variances {
			gain[i] = float32(float64(weights[i]) / math.Sqrt(float64(v)+l.Epsilon()))
		}
	}
	rows := func(of func(out, x []float32)) func(_, lo, hi int, out graph.Array, in []graph.Array) {
		size := x.Shape().TotalSize() / x.Shape()[0]
		return func(_, lo, hi int, out graph.Array, in []graph.Array) {
			of(out.Float32[lo*size:hi*size], in[0].Float32[lo*size:hi*size])
		}
	}
	return p.Apply(graph.Operation{
		Name: "frozen-batch-norm", Type: tensor.Float32, Shape: x.Shape(), InPlace: true,
		Prepare: func(in []graph.Array) {
			scale(in[1].Float32, in[4].Float32)
			for i, m := range in[3].Float32 {
				shift[i] = in[2].Float32[i] - m*gain[i]
			}
		},
		Rows: rows(func(y, x []float32) { kernel.ScaleShift(y, x, gain, shift) }),
		Gradient: p.towardInput(func(_ []*gorgonia.Node, dy *gorgonia.Node) *gorgonia.Node {
			return p.Apply(graph.Operation{
				Name: "frozen-batch-norm-gradient", Type: tensor.Float32, Shape: x.Shape(), InPlace: true,
				Prepare: func(in []graph.Array) { scale(in[1].Float32, in[2].Float32) },
				Rows:    rows(func(dx, dy []float32) { kernel.ScaleChannels(dx, dy, gain) }),
			}, dy, weight, variance)
		}),
	}, x, weight, bias, mean, variance)
}
