package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"dpsgd/model"
)

// torchNetwork writes layers as Python.
type torchNetwork struct {
	tensors map[string]model.Tensor // by name
	shapes  map[string][]int        // of the output of each layer by its name: (height, width, channels) or (n)
	used    map[string]bool         // kinds of layers that torch.nn does not have
}

// torchPlace is where a layer stands.
type torchPlace struct {
	name   string // such as "4.body.0"
	input  []int  // the shape of one example
	indent string
}

// writers has a row for each kind of layer: a function that writes it as an expression.
var writers map[string]func(n *torchNetwork, l model.Layer, at torchPlace) (string, error)

func init() { // not in the declaration: a residual block asks for the writers of others
	writers = map[string]func(n *torchNetwork, l model.Layer, at torchPlace) (string, error){
		"conv2d": func(_ *torchNetwork, l model.Layer, at torchPlace) (string, error) {
			return convolution("nn.Conv2d", torchAs[model.Conv2D](l), at), nil
		},
		"standardised_conv2d": func(n *torchNetwork, l model.Layer, at torchPlace) (string, error) {
			n.used["StandardisedConv2d"] = true
			return convolution("StandardisedConv2d", torchAs[model.StandardisedConv2D](l).Conv2D, at), nil
		},
		"max_pool2d": func(_ *torchNetwork, l model.Layer, _ torchPlace) (string, error) {
			p := torchAs[model.MaxPool2D](l)
			return fmt.Sprintf("nn.MaxPool2d(%s, stride=%s, padding=%s)", torchSize(p.Kernel), torchSize(p.Stride), torchSize(p.Padding)), nil
		},
		"avg_pool2d": func(_ *torchNetwork, l model.Layer, _ torchPlace) (string, error) {
			p := torchAs[model.AvgPool2D](l)
			inside := ""
			if p.OnlyInside {
				inside = ", count_include_pad=False"
			}
			return fmt.Sprintf("nn.AvgPool2d(%s, stride=%s, padding=%s%s)", torchSize(p.Kernel), torchSize(p.Stride), torchSize(p.Padding), inside), nil
		},
		"global_avg_pool2d": torchSimple("nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())"),
		"flatten":           torchSimple("nn.Flatten()"),
		"linear": func(n *torchNetwork, l model.Layer, at torchPlace) (string, error) {
			w := n.tensors[at.name+".weight"].Shape
			return fmt.Sprintf("nn.Linear(%d, %d%s)", w[1], w[0], withBias(torchAs[model.Linear](l).NoBias)), nil
		},
		"relu":    torchSimple("nn.ReLU()"),
		"tanh":    torchSimple("nn.Tanh()"),
		"sigmoid": torchSimple("nn.Sigmoid()"),
		"gelu":    torchSimple("nn.GELU()"),
		"silu":    torchSimple("nn.SiLU()"),
		"tempered_sigmoid": func(n *torchNetwork, l model.Layer, _ torchPlace) (string, error) {
			t := torchAs[model.TemperedSigmoid](l)
			n.used["TemperedSigmoid"] = true
			return fmt.Sprintf("TemperedSigmoid(scale=%v, inverse_temperature=%v, offset=%v)", t.Scale, t.InverseTemperature, t.Offset), nil
		},
		"group_norm": func(_ *torchNetwork, l model.Layer, at torchPlace) (string, error) {
			return fmt.Sprintf("nn.GroupNorm(%d, %d)", torchAs[model.GroupNorm](l).Groups, at.input[2]), nil
		},
		"layer_norm": func(n *torchNetwork, _ model.Layer, at torchPlace) (string, error) {
			return fmt.Sprintf("nn.LayerNorm(%s)", list(n.tensors[at.name+".weight"].Shape)), nil
		},
		"dropout": func(_ *torchNetwork, l model.Layer, _ torchPlace) (string, error) {
			return fmt.Sprintf("nn.Dropout(%v)", torchAs[model.Dropout](l).P), nil
		},
		"residual": torchResidual,
	}
}

// torchAs is the layer itself, whether it stands behind a pointer or not.
func torchAs[L any](l model.Layer) L {
	if p, ok := l.(any).(*L); ok {
		return *p
	}
	return l.(any).(L)
}

// sequential writes layers as an nn.Sequential, named below a prefix such as "4.body.".
func (n *torchNetwork) sequential(layers model.Sequential, prefix string, input []int, indent string) (string, error) {
	var b strings.Builder
	b.WriteString("nn.Sequential(\n")
	for i, l := range layers {
		at := torchPlace{prefix + strconv.Itoa(i), input, indent + "    "}
		write, known := writers[l.Kind()]
		if !known {
			return "", fmt.Errorf("pytorch: layer %s is a %s, which cannot be written in Python", at.name, l.Kind())
		}
		text, err := write(n, l, at)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s%s,\n", at.indent, text)
		input = n.shapes[at.name]
	}
	b.WriteString(indent + ")")
	return b.String(), nil
}

func torchSimple(text string) func(*torchNetwork, model.Layer, torchPlace) (string, error) {
	return func(*torchNetwork, model.Layer, torchPlace) (string, error) { return text, nil }
}

func convolution(class string, l model.Conv2D, at torchPlace) string {
	more := withBias(l.NoBias)
	if l.Groups > 1 {
		more = fmt.Sprintf(", groups=%d", l.Groups) + more
	}
	if l.Dilation != (model.Size{}) && l.Dilation != model.Both(1) {
		more = ", dilation=" + torchSize(l.Dilation) + more
	}
	return fmt.Sprintf("%s(%d, %d, %s, stride=%s, padding=%s%s)", class, at.input[2], l.Out, torchSize(l.Kernel), torchSize(l.Stride), torchSize(l.Padding), more)
}

// torchSize writes one number, or a pair of Python's.
func torchSize(s model.Size) string {
	if s.Height == s.Width {
		return strconv.Itoa(s.Height)
	}
	return fmt.Sprintf("(%d, %d)", s.Height, s.Width)
}

func withBias(none bool) string {
	if none {
		return ", bias=False"
	}
	return ""
}

func torchResidual(n *torchNetwork, l model.Layer, at torchPlace) (string, error) {
	r := torchAs[model.Residual](l)
	n.used["Residual"] = true
	body, err := n.sequential(r.Body, at.name+".body.", at.input, at.indent+"    ")
	if err != nil {
		return "", err
	}
	shortcut := "nn.Sequential()"
	if len(r.Shortcut) > 0 {
		if shortcut, err = n.sequential(r.Shortcut, at.name+".shortcut.", at.input, at.indent+"    "); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Residual(\n%s    body=%s,\n%s    shortcut=%s,\n%s)", at.indent, body, at.indent, shortcut, at.indent), nil
}

// list writes integers as a list of Python's.
func list(values []int) string {
	return strings.ReplaceAll(fmt.Sprint(values), " ", ", ")
}
