package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

// Arguments lists what a configuration can set.
func (l *Linear) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "out_features", Also: []string{"units"}, Doc: "Number of outputs; classes is the number of classes of the data set.",
			Format: setting.Integer{Min: 1, Max: 1 << 20, Word: "classes", WordValue: NumClasses, WordMeans: "the number of classes of the data set"},
			Value:  &l.Out, Required: true},
		bias(&l.NoBias),
	}
}

// Kind is "linear".
func (Linear) Kind() string { return "linear" }

// Forward declares the layer.
func (l Linear) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, in, ok := p.features(x)
	if !ok {
		return nil
	}
	if l.Out == NumClasses {
		l.Out = p.classes
	}
	if l.Out < 1 {
		return p.reject("it has %d outputs, expected at least 1", l.Out)
	}
	w := p.Parameter("weight", uniform(in), []int{l.Out, in}, nil)
	parameters := []*gorgonia.Node{w}
	if !l.NoBias {
		parameters = append(parameters, p.Parameter("bias", uniform(in), []int{l.Out}, nil))
	}
	z := p.affine(batch, in, l.Out, x, parameters)
	p.Use(w, perexample.DenseWeight{In: in, Out: l.Out}, x, z)
	if !l.NoBias {
		p.Use(parameters[1], perexample.Bias{Positions: 1, Channels: l.Out}, x, z)
	}
	p.Count(in * l.Out)
	return z
}

// affine is xWᵀ + b with parameters W or W, b.
func (p *Pass) affine(batch, in, out int, x *gorgonia.Node, parameters []*gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	pool := p.Pool()
	return p.Apply(graph.Operation{
		Name: "linear", Type: tensor.Float32, Shape: []int{batch, out},
		Run: func(z graph.Array, a []graph.Array) {
			pool.Gemm(false, true, batch, out, in, 1, a[0].Float32, in, a[1].Float32, in, 0, z.Float32, out)
			if len(a) == 3 {
				kernel.AddBias(z.Float32, a[2].Float32)
			}
		},
		Gradient: func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
			gradients := make([]*gorgonia.Node, len(inputs))
			if p.Tracked(inputs[0]) {
				gradients[0] = p.affineInputGradient(batch, in, out, dz, inputs[1])
			}
			return gradients
		},
	}, append([]*gorgonia.Node{x}, parameters...)...)
}

// affineInputGradient is dz·W.
func (p *Pass) affineInputGradient(batch, in, out int, dz, w *gorgonia.Node) *gorgonia.Node {
	pool := p.Pool()
	return p.Apply(graph.Operation{
		Name: "linear-input-gradient", Type: tensor.Float32, Shape: []int{batch, in},
		Run: func(dx graph.Array, a []graph.Array) {
			pool.Gemm(false, false, batch, in, out, 1, a[0].Float32, out, a[1].Float32, in, 0, dx.Float32, in)
		},
	}, dz, w)
}
