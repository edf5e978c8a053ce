package exchange

import (
	"fmt"
	"math"
	"strconv"

	"dpsgd/model"
	"dpsgd/perexample"
)

// onnxNetwork adds the layers of a model to a graph.
type onnxNetwork struct {
	*onnxGraph
	tensors map[string]model.Tensor // by name, in PyTorch's layouts
	shapes  map[string][]int        // of the output of each layer by its name: (height, width, channels) or (n)
	classes int
}

// onnxPlace is where a layer stands.
type onnxPlace struct {
	name  string // such as "4.body.0"
	input []int  // the shape of one example
}

// converters has a row for each kind of layer: a function that adds it, behind the value x, and
// returns its output. Activations here are channels first, so that flattening needs no thought.
var converters map[string]func(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error)

func init() { // not in the declaration: a residual block asks for the converters of others
	converters = map[string]func(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error){
		"conv2d": func(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error) {
			return n.convolution(onnxAs[model.Conv2D](l), at, x, n.weight(at)), nil
		},
		"standardised_conv2d": standardised,
		"max_pool2d": func(n *onnxNetwork, l model.Layer, _ onnxPlace, x string) (string, error) {
			p := onnxAs[model.MaxPool2D](l)
			return n.op("MaxPool", []string{x}, window(p.Kernel, p.Stride, p.Padding)...), nil
		},
		"avg_pool2d": func(n *onnxNetwork, l model.Layer, _ onnxPlace, x string) (string, error) {
			p, padding := onnxAs[model.AvgPool2D](l), 1
			if p.OnlyInside {
				padding = 0
			}
			return n.op("AveragePool", []string{x}, append(window(p.Kernel, p.Stride, p.Padding), attribute{"count_include_pad", padding})...), nil
		},
		"global_avg_pool2d": func(n *onnxNetwork, _ model.Layer, _ onnxPlace, x string) (string, error) {
			return n.op("Flatten", []string{n.op("GlobalAveragePool", []string{x})}), nil
		},
		"flatten":          onnxSimple("Flatten"),
		"linear":           linear,
		"relu":             onnxSimple("Relu"),
		"tanh":             onnxSimple("Tanh"),
		"sigmoid":          onnxSimple("Sigmoid"),
		"gelu":             gelu,
		"silu":             silu,
		"tempered_sigmoid": temperedSigmoid,
		"group_norm":       groupNorm,
		"layer_norm":       layerNorm,
		"dropout":          func(_ *onnxNetwork, _ model.Layer, _ onnxPlace, x string) (string, error) { return x, nil }, // of training alone
		"residual":         onnxResidual,
	}
}

// onnxAs is the layer itself, whether it stands behind a pointer or not.
func onnxAs[L any](l model.Layer) L {
	if p, ok := l.(any).(*L); ok {
		return *p
	}
	return l.(any).(L)
}

// sequential adds layers one after the other, named below a prefix such as "4.body.".
func (n *onnxNetwork) sequential(layers model.Sequential, prefix string, input []int, x string) (string, error) {
	for i, l := range layers {
		at := onnxPlace{prefix + strconv.Itoa(i), input}
		convert, known := converters[l.Kind()]
		if !known {
			return "", fmt.Errorf("onnx: layer %s is a %s, which cannot be written in ONNX", at.name, l.Kind())
		}
		n.part = at.name
		var err error
		if x, err = convert(n, l, at, x); err != nil {
			return "", err
		}
		input = n.shapes[at.name]
	}
	return x, nil
}

// parameter adds a tensor of a layer as a constant.
func (n *onnxNetwork) parameter(at onnxPlace, name string, shape ...int) string {
	t := n.tensors[at.name+"."+name]
	if len(shape) == 0 {
		shape = t.Shape
	}
	return n.floats(name, t.Data, shape...)
}

func (n *onnxNetwork) weight(at onnxPlace) string { return n.parameter(at, "weight") }

func onnxSimple(operator string) func(*onnxNetwork, model.Layer, onnxPlace, string) (string, error) {
	return func(n *onnxNetwork, _ model.Layer, _ onnxPlace, x string) (string, error) {
		return n.op(operator, []string{x}), nil
	}
}

func window(kernel, stride, padding model.Size) []attribute {
	return []attribute{{"kernel_shape", sides(kernel)}, {"strides", sides(stride)}, {"pads", append(sides(padding), sides(padding)...)}}
}

func sides(s model.Size) []int { return []int{s.Height, s.Width} }

func (n *onnxNetwork) convolution(l model.Conv2D, at onnxPlace, x, filters string) string {
	inputs := []string{x, filters}
	if !l.NoBias {
		inputs = append(inputs, n.parameter(at, "bias"))
	}
	attributes := window(l.Kernel, l.Stride, l.Padding)
	if l.Dilation != (model.Size{}) && l.Dilation != model.Both(1) {
		attributes = append(attributes, attribute{"dilations", sides(l.Dilation)})
	}
	if l.Groups > 1 {
		attributes = append(attributes, attribute{"group", l.Groups})
	}
	return n.op("Conv", inputs, attributes...)
}

// standardised writes the filters as they are used, as training is over.
func standardised(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error) {
	w := n.tensors[at.name+".weight"]
	taps := len(w.Data) / w.Shape[0]
	filters := make([]float32, len(w.Data))
	perexample.NewStandardisation(w.Shape[0], taps).Set(filters, w.Data)
	return n.convolution(onnxAs[model.StandardisedConv2D](l).Conv2D, at, x, n.floats("weight", filters, w.Shape...)), nil
}

func linear(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error) {
	inputs := []string{x, n.weight(at)}
	if !onnxAs[model.Linear](l).NoBias {
		inputs = append(inputs, n.parameter(at, "bias"))
	}
	return n.op("Gemm", inputs, attribute{"transB", 1}), nil
}

// gelu is x·(1 + erf(x/√2))/2: operator set 17 has no Gelu yet.
func gelu(n *onnxNetwork, _ model.Layer, _ onnxPlace, x string) (string, error) {
	erf := n.op("Erf", []string{n.op("Mul", []string{x, n.scalar("inverse_sqrt_2", 1/math.Sqrt2)})})
	both := n.op("Mul", []string{x, n.op("Add", []string{erf, n.scalar("one", 1)})})
	return n.op("Mul", []string{both, n.scalar("half", 0.5)}), nil
}

func silu(n *onnxNetwork, _ model.Layer, _ onnxPlace, x string) (string, error) {
	return n.op("Mul", []string{x, n.op("Sigmoid", []string{x})}), nil
}

func temperedSigmoid(n *onnxNetwork, l model.Layer, _ onnxPlace, x string) (string, error) {
	t := onnxAs[model.TemperedSigmoid](l)
	s := n.op("Sigmoid", []string{n.op("Mul", []string{x, n.scalar("inverse_temperature", t.InverseTemperature)})})
	return n.op("Sub", []string{n.op("Mul", []string{s, n.scalar("scale", t.Scale)}), n.scalar("offset", t.Offset)}), nil
}

// normEpsilon is PyTorch's, and that of package model.
const normEpsilon = 1e-5

// groupNorm normalises each group as if it were one channel of an instance normalisation: operator
// set 17 has no GroupNormalization yet.
func groupNorm(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error) {
	groups, channels := onnxAs[model.GroupNorm](l).Groups, at.input[2]
	x = n.instanceNorm(x, groups, at.input[0]*at.input[1]*channels)
	x = n.op("Reshape", []string{x, n.integers("shape", -1, channels, at.input[0], at.input[1])})
	x = n.op("Mul", []string{x, n.parameter(at, "weight", 1, channels, 1, 1)})
	return n.op("Add", []string{x, n.parameter(at, "bias", 1, channels, 1, 1)}), nil
}

// instanceNorm cuts the values of an example into groups, (N, groups, values/groups), and gives each
// mean 0 and variance 1. Only N may be left open in a shape: with N = 0 nothing says how long another
// side is, and a reader refuses the graph.
func (g *onnxGraph) instanceNorm(x string, groups, values int) string {
	ones := make([]float32, groups)
	for i := range ones {
		ones[i] = 1
	}
	x = g.op("Reshape", []string{x, g.integers("groups", -1, groups, values/groups)})
	return g.op("InstanceNormalization", []string{x, g.floats("ones", ones, groups), g.floats("zeros", make([]float32, groups), groups)},
		attribute{"epsilon", float32(normEpsilon)})
}

func layerNorm(n *onnxNetwork, _ model.Layer, at onnxPlace, x string) (string, error) {
	return n.op("LayerNormalization", []string{x, n.weight(at), n.parameter(at, "bias")},
		attribute{"axis", 1}, attribute{"epsilon", float32(normEpsilon)}), nil
}

func onnxResidual(n *onnxNetwork, l model.Layer, at onnxPlace, x string) (string, error) {
	r := onnxAs[model.Residual](l)
	body, err := n.sequential(r.Body, at.name+".body.", at.input, x)
	if err != nil {
		return "", err
	}
	shortcut, err := n.sequential(r.Shortcut, at.name+".shortcut.", at.input, x)
	if err != nil {
		return "", err
	}
	n.part = at.name
	return n.op("Add", []string{body, shortcut}), nil
}
