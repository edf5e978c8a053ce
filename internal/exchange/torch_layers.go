package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"dpsgd/model"
)

// torchNetwork writes layers as Python.
type torchNetwork struct {
	*network
	used map[string]bool // Python classes to be defined in the file, because torch.nn has no such layer
}

// torchSimple maps the kinds of layers without arguments to their Python expressions.
var torchSimple = map[string]string{
	"global_avg_pool2d": "nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())", "flatten": "nn.Flatten()",
	"first_of_sequence": "FirstOfSequence()", "mean_over_sequence": "MeanOverSequence()",
	"relu": "nn.ReLU()", "tanh": "nn.Tanh()", "sigmoid": "nn.Sigmoid()", "gelu": "nn.GELU()", "silu": "nn.SiLU()",
}

// sequential returns layers, with names that begin with prefix ("4.body."), as an nn.Sequential.
func (n *torchNetwork) sequential(layers model.Sequential, prefix string, input []int, indent string) string {
	var b strings.Builder
	b.WriteString("nn.Sequential(\n")
	n.each(layers, prefix, input, func(l model.Layer, at place) {
		text, simple := torchSimple[l.Kind()]
		if simple {
			n.used[strings.TrimSuffix(text, "()")] = true
		} else {
			text = n.layer(l, at, indent+"    ")
		}
		fmt.Fprintf(&b, "%s    %s,\n", indent, text)
	})
	b.WriteString(indent + ")")
	return b.String()
}

// layer returns one layer as a Python expression.
func (n *torchNetwork) layer(l model.Layer, at place, indent string) string {
	weight := n.tensors[at.name+".weight"].Shape
	switch l := l.(type) {
	case model.Conv2D:
		return convolution("nn.Conv2d", l, at)
	case model.StandardisedConv2D:
		n.used["StandardisedConv2d"] = true
		return convolution("StandardisedConv2d", l.Conv2D, at)
	case model.MaxPool2D:
		return fmt.Sprintf("nn.MaxPool2d(%s, stride=%s, padding=%s)", torchSize(l.Kernel), torchSize(l.Stride), torchSize(l.Padding))
	case model.AvgPool2D:
		inside := ""
		if l.OnlyInside {
			inside = ", count_include_pad=False"
		}
		return fmt.Sprintf("nn.AvgPool2d(%s, stride=%s, padding=%s%s)", torchSize(l.Kernel), torchSize(l.Stride), torchSize(l.Padding), inside)
	case model.Linear:
		return fmt.Sprintf("nn.Linear(%d, %d%s)", weight[1], weight[0], withBias(l.NoBias))
	case model.TemperedSigmoid:
		n.used["TemperedSigmoid"] = true
		return fmt.Sprintf("TemperedSigmoid(scale=%v, inverse_temperature=%v, offset=%v)", l.Scale, l.InverseTemperature, l.Offset)
	case model.GroupNorm:
		return fmt.Sprintf("nn.GroupNorm(%d, %d)", l.Groups, at.input[2])
	case model.LayerNorm:
		return fmt.Sprintf("nn.LayerNorm(%s%s)", list(weight), withEps("eps", l.Epsilon()))
	case model.FrozenBatchNorm:
		return fmt.Sprintf("nn.BatchNorm2d(%d%s)", at.input[2], withEps("eps", l.Epsilon()))
	case model.ELU:
		return fmt.Sprintf("nn.ELU(%v)", l.Alpha)
	case model.LeakyReLU:
		return fmt.Sprintf("nn.LeakyReLU(%v)", l.Slope)
	case model.PatchEmbedding:
		n.used["PatchEmbedding"] = true
		return fmt.Sprintf("PatchEmbedding(%d, %d, %d, stride=%d)", at.input[2], l.Out, l.Patch, l.Patch)
	case model.ClassToken:
		n.used["ClassToken"] = true
		return fmt.Sprintf("ClassToken(%d)", at.input[1])
	case model.PositionalEmbedding:
		class := "PositionalEmbedding"
		if l.Sinusoidal {
			class = "Waves"
		}
		n.used[class] = true
		return fmt.Sprintf("%s(%d, %d)", class, at.input[0], at.input[1])
	case model.Attention:
		n.used["Attention"] = true
		return fmt.Sprintf("Attention(%d, %d%s, causal=%s)", at.input[1], l.Heads, withBias(l.NoBias), torchBool(l.Causal))
	case model.TransformerEncoder:
		n.used["TransformerEncoder"] = true
		return fmt.Sprintf("TransformerEncoder(%d, %d, %d, activation=%q, norm_first=%s, causal=%s%s)",
			at.input[1], l.Heads, l.FeedForward, l.Activation, torchBool(l.NormFirst), torchBool(l.Causal), withEps("layer_norm_eps", model.LayerNorm{Eps: l.Eps}.Epsilon()))
	case model.LSTM:
		return n.recurrent("LSTM", l.Recurrent, at)
	case model.GRU:
		return n.recurrent("GRU", l.Recurrent, at)
	case model.Dropout:
		return fmt.Sprintf("nn.Dropout(%v)", l.P)
	case model.Residual:
		n.used["Residual"] = true
		inner, shortcut := indent+"    ", "nn.Sequential()"
		if len(l.Shortcut) > 0 {
			shortcut = n.sequential(l.Shortcut, at.name+".shortcut.", at.input, inner)
		}
		body := n.sequential(l.Body, at.name+".body.", at.input, inner)
		return fmt.Sprintf("Residual(\n%sbody=%s,\n%sshortcut=%s,\n%s)", inner, body, inner, shortcut, indent)
	}
	n.refuse("pytorch", at, l, "Python")
	return ""
}

func convolution(class string, l model.Conv2D, at place) string {
	more := withBias(l.NoBias)
	if l.Groups > 1 {
		more = fmt.Sprintf(", groups=%d", l.Groups) + more
	}
	if l.Dilation != (model.Size{}) && l.Dilation != model.Both(1) {
		more = ", dilation=" + torchSize(l.Dilation) + more
	}
	return fmt.Sprintf("%s(%d, %d, %s, stride=%s, padding=%s%s)", class, at.input[2], l.Out, torchSize(l.Kernel), torchSize(l.Stride), torchSize(l.Padding), more)
}

// torchSize returns a size as a Python number if its sides are equal, or else as a tuple.
func torchSize(s model.Size) string {
	if s.Height == s.Width {
		return strconv.Itoa(s.Height)
	}
	return fmt.Sprintf("(%d, %d)", s.Height, s.Width)
}

func (n *torchNetwork) recurrent(class string, l model.Recurrent, at place) string {
	n.used["Recurrent"], n.used[class] = true, true
	return fmt.Sprintf("%s(%d, %d, bidirectional=%s, last=%s)", class, at.input[1], l.Hidden, torchBool(l.Bidirectional), torchBool(l.Last))
}

func torchBool(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

func withBias(none bool) string {
	if none {
		return ", bias=False"
	}
	return ""
}

// withEps returns the argument of a normalisation that adds another number to variances than most.
func withEps(name string, eps float64) string {
	if eps == normEpsilon {
		return ""
	}
	return fmt.Sprintf(", %s=%v", name, eps)
}

// list returns integers as a Python list.
func list(values []int) string {
	return strings.ReplaceAll(fmt.Sprint(values), " ", ", ")
}
