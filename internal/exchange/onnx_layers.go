package exchange

import (
	"math"
	"slices"

	"dpsgd/model"
	"dpsgd/perexample"
)

// onnxNetwork adds the layers of a model to a graph.
type onnxNetwork struct {
	*onnxGraph
	*network
	mask  string // (N, positions), 1 for a token and 0 for padding; "" where all positions are real
	table string // (vocabulary, values) of the embedding
}

// onnxSimple maps the layers that are one operator without attributes to that operator.
var onnxSimple = map[string]string{"flatten": "Flatten", "relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}

// sequential adds layers one after the other, of which the first takes x. Their names begin with
// prefix, such as "4.body.". It returns the name of the last one's output.
func (n *onnxNetwork) sequential(layers model.Sequential, prefix string, input []int, x string) string {
	n.each(layers, prefix, input, func(l model.Layer, at place) {
		n.part = at.name
		x = n.layer(l, at, x)
	})
	return x
}

// layer adds one layer that takes the value x, and returns its output. Activations are channels
// first here, as PyTorch's flattening expects.
func (n *onnxNetwork) layer(l model.Layer, at place, x string) string {
	if operator, simple := onnxSimple[l.Kind()]; simple {
		return n.op(operator, []string{x})
	}
	if y, ok := n.sequenceLayer(l, at, x); ok {
		return y
	}
	switch l := l.(type) {
	case model.Conv2D:
		return n.convolution(l, at, x, n.parameter(at, "weight"))
	case model.StandardisedConv2D: // its filters as they are used, as training is over
		w := n.tensors[at.name+".weight"]
		filters := make([]float32, len(w.Data))
		perexample.NewStandardisation(w.Shape[0], len(w.Data)/w.Shape[0]).Set(filters, w.Data)
		return n.convolution(l.Conv2D, at, x, n.floats("weight", filters, w.Shape...))
	case model.MaxPool2D:
		return n.op("MaxPool", []string{x}, window(l.Kernel, l.Stride, l.Padding)...)
	case model.AvgPool2D:
		padding := 1
		if l.OnlyInside {
			padding = 0
		}
		return n.op("AveragePool", []string{x}, append(window(l.Kernel, l.Stride, l.Padding), attribute{"count_include_pad", padding})...)
	case model.GlobalAvgPool2D:
		return n.op("Flatten", []string{n.op("GlobalAveragePool", []string{x})})
	case model.Linear:
		return n.op("Gemm", n.parameters(at, x, n.parameter(at, "weight"), l.NoBias), attribute{"transB", 1})
	case model.Activation:
		if y := n.activation(l.Kind(), x); y != "" {
			return y
		}
	case model.ELU:
		return n.op("Elu", []string{x}, attribute{"alpha", float32(l.Alpha)})
	case model.LeakyReLU:
		return n.op("LeakyRelu", []string{x}, attribute{"alpha", float32(l.Slope)})
	case model.TemperedSigmoid:
		s := n.op("Sigmoid", []string{n.op("Mul", []string{x, n.scalar("inverse_temperature", l.InverseTemperature)})})
		return n.op("Sub", []string{n.op("Mul", []string{s, n.scalar("scale", l.Scale)}), n.scalar("offset", l.Offset)})
	case model.GroupNorm:
		return n.groupNorm(l, at, x)
	case model.LayerNorm:
		return n.op("LayerNormalization", []string{x, n.parameter(at, "weight"), n.parameter(at, "bias")},
			attribute{"axis", 1}, attribute{"epsilon", float32(l.Epsilon())})
	case model.FrozenBatchNorm:
		constants := []string{x, n.parameter(at, "weight"), n.parameter(at, "bias"), n.parameter(at, "running_mean"), n.parameter(at, "running_var")}
		return n.op("BatchNormalization", constants, attribute{"epsilon", float32(l.Epsilon())})
	case model.Dropout:
		return x // of training alone
	case model.Residual:
		body := n.sequential(l.Body, at.name+".body.", at.input, x)
		shortcut := n.sequential(l.Shortcut, at.name+".shortcut.", at.input, x)
		n.part = at.name
		return n.op("Add", []string{body, shortcut})
	}
	n.refuse("onnx", at, l, "ONNX")
	return x
}

// activation adds one without arguments, by the name of its kind, and returns "" for another.
func (n *onnxNetwork) activation(kind, x string) string {
	switch kind {
	case "gelu": // x·(1 + erf(x/√2))/2: operator set 17 has no Gelu yet
		erf := n.op("Erf", []string{n.op("Mul", []string{x, n.scalar("inverse_sqrt_2", 1/math.Sqrt2)})})
		both := n.op("Mul", []string{x, n.op("Add", []string{erf, n.scalar("one", 1)})})
		return n.op("Mul", []string{both, n.scalar("half", 0.5)})
	case "gelu_tanh": // x·σ(x·(√(8/π) + 0.044715·√(8/π)·x²))
		square := n.op("Mul", []string{n.op("Mul", []string{x, x}), n.scalar("cubic", 0.044715*math.Sqrt(8/math.Pi))})
		inner := n.op("Mul", []string{x, n.op("Add", []string{square, n.scalar("linear", math.Sqrt(8/math.Pi))})})
		return n.op("Mul", []string{x, n.op("Sigmoid", []string{inner})})
	case "silu":
		return n.op("Mul", []string{x, n.op("Sigmoid", []string{x})})
	}
	if operator, simple := onnxSimple[kind]; simple {
		return n.op(operator, []string{x})
	}
	return ""
}

// parameter adds a parameter of a layer as a constant, in its own shape or in another one.
func (n *onnxNetwork) parameter(at place, name string, shape ...int) string {
	t := n.tensors[at.name+"."+name]
	if len(shape) == 0 {
		shape = t.Shape
	}
	return n.floats(name, t.Data, shape...)
}

// parameters returns an operator's inputs: x, weights and, unless noBias is set, the layer's bias.
func (n *onnxNetwork) parameters(at place, x, weights string, noBias bool) []string {
	if noBias {
		return []string{x, weights}
	}
	return []string{x, weights, n.parameter(at, "bias")}
}

func window(kernel, stride, padding model.Size) []attribute {
	return []attribute{{"kernel_shape", sides(kernel)}, {"strides", sides(stride)}, {"pads", append(sides(padding), sides(padding)...)}}
}

func sides(s model.Size) []int { return []int{s.Height, s.Width} }

func (n *onnxNetwork) convolution(l model.Conv2D, at place, x, filters string) string {
	attributes := window(l.Kernel, l.Stride, l.Padding)
	if l.Dilation != (model.Size{}) && l.Dilation != model.Both(1) {
		attributes = append(attributes, attribute{"dilations", sides(l.Dilation)})
	}
	if l.Groups > 1 {
		attributes = append(attributes, attribute{"group", l.Groups})
	}
	return n.op("Conv", n.parameters(at, x, filters, l.NoBias), attributes...)
}

// normEpsilon is PyTorch's, and that of package model.
const normEpsilon = 1e-5

// groupNorm normalises each group as if it were one channel of an instance normalisation: operator
// set 17 has no GroupNormalization yet.
func (n *onnxNetwork) groupNorm(l model.GroupNorm, at place, x string) string {
	height, width, channels := at.input[0], at.input[1], at.input[2]
	x = n.instanceNorm(x, l.Groups, height*width*channels)
	x = n.op("Reshape", []string{x, n.integers("shape", -1, channels, height, width)})
	x = n.op("Mul", []string{x, n.parameter(at, "weight", 1, channels, 1, 1)})
	return n.op("Add", []string{x, n.parameter(at, "bias", 1, channels, 1, 1)})
}

// instanceNorm cuts the values of an example into groups, (N, groups, values/groups), and gives
// each mean 0 and variance 1. Only N may be left open in a shape: with N = 0 nothing says how long
// another side is, and a reader refuses the graph.
func (g *onnxGraph) instanceNorm(x string, groups, values int) string {
	x = g.op("Reshape", []string{x, g.integers("groups", -1, groups, values/groups)})
	return g.op("InstanceNormalization", []string{x, g.floats("ones", ones(groups), groups), g.floats("zeros", make([]float32, groups), groups)},
		attribute{"epsilon", float32(normEpsilon)})
}

func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }
