package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/random"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Dropout zeroes each value with probability P in training passes and scales the others by 1/(1-P).
// PyTorch: nn.Dropout.
//
// No network of this project uses it: with DP-SGD the noise already regularises, clipped models
// underfit rather than overfit, and dropped units make the gradients of one example vary more,
// which clipping turns into bias. It costs no privacy: the mask is drawn for each example on its
// own and independently of the data.
type Dropout struct{ P float64 }

var dropout = kind("Sets values to 0 at random while training.", func() Layer { return &Dropout{} })

func (l *Dropout) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "p", Doc: "The probability that a value becomes 0.",
		Format: setting.Number{Min: 0, Max: 1, OpenMax: true}, Value: &l.P, Required: true}}
}

func (Dropout) Kind() string { return "dropout" }

// Forward declares the layer; it does nothing in a pass that only predicts.
func (l Dropout) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if !(l.P >= 0 && l.P < 1) {
		return p.reject("its probability is %v, expected at least 0 and below 1", l.P)
	}
	if !p.Training || l.P == 0 {
		return x
	}
	var mask []float32 // drawn by the forward operation, read by its gradient
	size := x.Shape().TotalSize()
	p.Keeps(4 * size)
	src := random.New()
	keep := float32(1 / (1 - l.P))
	multiply := func(out, x []float32) {
		for i, m := range mask {
			out[i] = m * x[i]
		}
	}
	return p.Apply(graph.Operation{
		Name: "dropout", Type: tensor.Float32, Shape: x.Shape(),
		Run: func(out graph.Array, in []graph.Array) {
			if mask == nil {
				mask = make([]float32, size)
			}
			for i := range mask {
				mask[i] = 0
				if src.Float64() >= l.P {
					mask[i] = keep
				}
			}
			multiply(out.Float32, in[0].Float32)
		},
		Gradient: func(_ []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "dropout-gradient", Type: tensor.Float32, Shape: x.Shape(),
				Run: func(out graph.Array, in []graph.Array) { multiply(out.Float32, in[0].Float32) },
			}, dy, y)}
		},
	}, x)
}
