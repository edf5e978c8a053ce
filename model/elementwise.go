package model

import (
	"math"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Activation is a function applied to every value. The ready ones are [ReLU], [Tanh], [Sigmoid],
// [GELU], [GELUTanh] and [SiLU].
type Activation struct {
	kind     string
	value    func(y, x []float32)
	gradient func(dx, from, dy []float32)
	fromX    bool // the gradient reads the input, not the output
}

// The activations. GELU is the exact form x·Φ(x), PyTorch's default. GELUTanh is the one of GPT-2.
var (
	ReLU     = Activation{kind: "relu", value: kernel.ReLU, gradient: kernel.ReLUGrad}
	Tanh     = Activation{kind: "tanh", value: kernel.Tanh, gradient: kernel.TanhGrad}
	Sigmoid  = Activation{kind: "sigmoid", value: kernel.Sigmoid, gradient: kernel.SigmoidGrad}
	GELU     = Activation{kind: "gelu", value: kernel.GELU, gradient: kernel.GELUGrad, fromX: true}
	GELUTanh = Activation{kind: "gelu_tanh", value: geluTanhValue, gradient: geluTanhGradient, fromX: true}
	SiLU     = Activation{kind: "silu", value: kernel.SiLU, gradient: kernel.SiLUGrad, fromX: true}
)

var (
	relu     = kind("max(x, 0).", func() Layer { return &ReLU })
	tanh     = kind("Hyperbolic tangent; bounded, and often the best choice for private training.", func() Layer { return &Tanh })
	sigmoid  = kind("1 / (1 + exp(-x)).", func() Layer { return &Sigmoid })
	gelu     = kind("x times the normal distribution function of x.", func() Layer { return &GELU })
	geluTanh = kind("gelu approximated by a hyperbolic tangent, as in GPT-2.", func() Layer { return &GELUTanh }, "gelu_new")
	silu     = kind("x times the sigmoid of x.", func() Layer { return &SiLU }, "swish")
)

func (a Activation) Kind() string { return a.kind }

func (a Activation) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	back := func(inputs []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
		from := y
		if a.fromX {
			from = inputs[0]
		}
		return []*gorgonia.Node{p.perExample(inPlace, a.kind+"-gradient", x.Shape(), a.gradient, nil, from, dy)}
	}
	return p.perExample(inPlace, a.kind, x.Shape(), func(y, x, _ []float32) { a.value(y, x) }, back, x)
}

// geluTanhAt is x·s with the sigmoid s of a·x + b·x³ (Hendrycks and Gimpel, arXiv:1606.08415v5, section
// 2), and slope its derivative.
func geluTanhAt(x float32) (y, slope float32) {
	const a = 1.5957691216057308 // √(8/π)
	const b = 0.044715 * a
	v := float64(x)
	s := 1 / (1 + math.Exp(-v*(a+b*v*v)))
	return float32(v * s), float32(s + v*s*(1-s)*(a+3*b*v*v))
}

func geluTanhValue(y, x []float32) {
	for i, v := range x {
		y[i], _ = geluTanhAt(v)
	}
}

func geluTanhGradient(dx, x, dy []float32) {
	for i, v := range x {
		_, slope := geluTanhAt(v)
		dx[i] = slope * dy[i]
	}
}

// gradientOf declares the gradients of the loss with respect to an operation's inputs, given that
// with respect to its output; nil where none flows.
type gradientOf = func(inputs []*gorgonia.Node, output, gradient *gorgonia.Node) []*gorgonia.Node

// How an operation may use memory: with inPlace, its output may overwrite an input.
const (
	inPlace = true
	apart   = false
)

// perExample adds an operation that computes every example's output from the same example's inputs,
// one or two: run gets the outputs of a range of whole examples and their inputs, b nil without a
// second. Inputs after the first may be parameters, which run reads by itself.
func (p *Pass) perExample(overwrite bool, name string, shape tensor.Shape, run func(out, a, b []float32), gradient gradientOf, inputs ...*gorgonia.Node) *gorgonia.Node {
	batch := shape[0]
	return p.Apply(graph.Operation{
		Name: name, Type: tensor.Float32, Shape: shape, InPlace: overwrite, Gradient: gradient,
		Rows: func(_, lo, hi int, out graph.Array, in []graph.Array) {
			examples := func(x []float32) []float32 {
				n := len(x) / batch
				return x[lo*n : hi*n]
			}
			var second []float32
			if len(in) == 2 {
				second = examples(in[1].Float32)
			}
			run(examples(out.Float32), examples(in[0].Float32), second)
		},
	}, inputs...)
}

// towardInput returns the gradient of an operation with respect to its first input. The others are
// parameters, whose rules form their gradients.
func (p *Pass) towardInput(declare func(inputs []*gorgonia.Node, dz *gorgonia.Node) *gorgonia.Node) gradientOf {
	return func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
		gradients := make([]*gorgonia.Node, len(inputs))
		if p.Tracked(inputs[0]) {
			gradients[0] = declare(inputs, dz)
		}
		return gradients
	}
}

// affine describes a layer that multiplies by weights and adds a bias.
type affine struct {
	weights           *gorgonia.Node
	rule              perexample.Rule
	filters           *gorgonia.Node // made of the weights: the factor of x
	noBias            bool
	bias              perexample.Bias
	biasName          string
	biases            initialiser
	multiplyAdds      int             // of an example
	forward, backward graph.Operation // with the inputs x, filters, and bias if any; with dz and filters
}

// affine declares the layer l on x, announces its parameters, and returns its output.
func (p *Pass) affine(x *gorgonia.Node, l affine) *gorgonia.Node {
	inputs := []*gorgonia.Node{x, l.filters}
	if !l.noBias {
		inputs = append(inputs, p.Parameter(l.biasName, l.biases, []int{l.bias.Channels}, nil))
	}
	l.forward.Type, l.backward.Type, l.backward.Shape = tensor.Float32, tensor.Float32, x.Shape()
	l.forward.Gradient = p.towardInput(func(inputs []*gorgonia.Node, dz *gorgonia.Node) *gorgonia.Node {
		return p.Apply(l.backward, dz, inputs[1])
	})
	z := p.Apply(l.forward, inputs...)
	p.Use(l.weights, l.rule, x, z)
	if !l.noBias {
		p.Use(inputs[2], l.bias, x, z)
	}
	p.layers[len(p.layers)-1].MultiplyAdds += l.multiplyAdds
	return z
}

// TemperedSigmoid is Scale·sigmoid(InverseTemperature·x) - Offset, applied to every value (Papernot
// et al., arXiv:2007.14191): bounded activations keep gradients short, so that
// clipping takes less away. With 2, 2 and 1 it is the hyperbolic tangent.
type TemperedSigmoid struct{ Scale, InverseTemperature, Offset float64 }

var temperedSigmoid = kind("scale times the sigmoid of (inverse_temperature times x), less offset; tanh by default.",
	func() Layer { return &TemperedSigmoid{Scale: 2, InverseTemperature: 2, Offset: 1} })

func (l *TemperedSigmoid) Arguments() []setting.Argument {
	positive := setting.Number{Min: 0, Max: 100, OpenMin: true}
	return []setting.Argument{
		{Name: "scale", Doc: "Distance between the two ends of its range; default 2.", Format: positive, Value: &l.Scale},
		{Name: "inverse_temperature", Doc: "How steeply it rises; default 2.", Format: positive, Value: &l.InverseTemperature},
		{Name: "offset", Doc: "What is subtracted; default 1.", Format: setting.Number{Min: -100, Max: 100}, Value: &l.Offset},
	}
}

func (TemperedSigmoid) Kind() string { return "tempered_sigmoid" }

func (l TemperedSigmoid) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if err := setting.Check(l.Kind(), l); err != nil {
		return p.reject("%v", err)
	}
	return Activation{kind: l.Kind(), value: l.value, gradient: l.gradient}.Forward(p, x)
}

// value computes y = Scale·sigmoid(InverseTemperature·x) - Offset; y and x may be the same memory.
func (l TemperedSigmoid) value(y, x []float32) {
	scale, steepness, offset := float32(l.Scale), float32(l.InverseTemperature), float32(l.Offset)
	for i, v := range x {
		y[i] = steepness * v
	}
	kernel.Sigmoid(y, y)
	for i, s := range y {
		y[i] = scale*s - offset
	}
}

// gradient computes dx = Scale·InverseTemperature·u·(1-u)·dy for the sigmoid u = (y+Offset)/Scale.
func (l TemperedSigmoid) gradient(dx, y, dy []float32) {
	perScale, slope, offset := float32(1/l.Scale), float32(l.Scale*l.InverseTemperature), float32(l.Offset)
	for i, d := range dy {
		u := (y[i] + offset) * perScale
		dx[i] = slope * u * (1 - u) * d
	}
}
