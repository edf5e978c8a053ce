package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// NumClasses is the value of [Linear] Out that stands for the number of classes of the model; in
// YAML it is the word classes.
const NumClasses = -1

// Linear is the dense layer z = xWᵀ + b on vectors: x (B, in), W (Out, in), b (Out). PyTorch:
// nn.Linear.
type Linear struct {
	Out    int // or NumClasses
	NoBias bool
}

var linear = kind("Fully connected layer.", func() Layer { return &Linear{} }, "dense", "fc")

func (l *Linear) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "out_features", Also: []string{"units"}, Doc: "Number of outputs; classes is the number of classes of the data set.",
			Format: setting.Integer{Min: 1, Max: 1 << 20, Word: "classes", WordValue: NumClasses, WordMeans: "the number of classes of the data set"},
			Value:  &l.Out, Required: true},
		bias(&l.NoBias),
	}
}

func (Linear) Kind() string { return "linear" }

func (l Linear) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	s := x.Shape()
	if len(s) != 2 {
		return p.reject("its input has shape %v per example, expected a vector; put flatten or global_avg_pool2d in front", []int(s[1:]))
	}
	batch, in := s[0], s[1]
	if l.Out == NumClasses {
		l.Out = p.model.classes
	}
	if l.Out < 1 {
		return p.reject("it has %d outputs, expected at least 1", l.Out)
	}
	w, pool := p.Parameter("weight", uniform(in), []int{l.Out, in}, nil), p.Pool()
	return p.affine(x, affine{
		fanIn: in, weights: w, rule: perexample.DenseWeight{In: in, Out: l.Out}, filters: w,
		noBias: l.NoBias, bias: perexample.Bias{Positions: 1, Channels: l.Out},
		forward: graph.Operation{Name: "linear", Shape: []int{batch, l.Out}, Run: func(z graph.Array, a []graph.Array) {
			pool.Gemm(false, true, batch, l.Out, in, 1, a[0].Float32, in, a[1].Float32, in, 0, z.Float32, l.Out)
			if len(a) == 3 {
				kernel.AddBias(z.Float32, a[2].Float32)
			}
		}},
		backward: graph.Operation{Name: "linear-input-gradient", Run: func(dx graph.Array, a []graph.Array) {
			pool.Gemm(false, false, batch, in, l.Out, 1, a[0].Float32, l.Out, a[1].Float32, in, 0, dx.Float32, in)
		}},
	})
}
