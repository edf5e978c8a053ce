package exchange

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/features/encoder"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

//go:embed *.py.tmpl
var files embed.FS

var script = template.Must(template.New("model.py.tmpl").Funcs(template.FuncMap{
	"json": asJSON, // which is Python, too, for texts and lists of them
	// What others have written does not end a docstring.
	"text": strings.NewReplacer(`\`, `\\`, `"""`, `'''`, "\n", " ", "\r", " ").Replace,
}).ParseFS(files, "*.py.tmpl"))

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// page holds the values in the template of the Python file.
type page struct {
	Run, Training         string
	File, Module, Weights string
	Facts                 []trained.Fact
	Takes, Shape          string
	Classes               []string
	Pictures              bool
	Used                  map[string]bool
	Network, Seen         string
	Features              *features.Definition // nil for none
	Backbone              string               // the public network that makes them, or ""
	Centred               bool                 // whether a mean is subtracted from them
	Adapted               bool                 // whether attention is made of linear layers, for PEFT
}

// PyTorch returns the content of a Python file with the model, which will have the name file, and
// the tensors that it reads, for the safetensors file of the name weights beside it.
func PyTorch(m *trained.Model, file, weights string) ([]byte, []model.Tensor, error) {
	return python(m, page{File: file, Weights: weights})
}

// python fills in the page of a model.
func python(m *trained.Model, p page) ([]byte, []model.Tensor, error) {
	layers, err := networkOf(m)
	if err != nil {
		return nil, nil, err
	}
	n := &torchNetwork{layers, map[string]bool{}}
	p.Run, p.Training, p.Module = m.Statement.Run, m.Training(), strings.TrimSuffix(p.File, filepath.Ext(p.File))
	p.Facts, p.Classes, p.Pictures, p.Used = m.Provenance(), m.Data.Names, m.Sees() == trained.Pictures, n.used
	p.Takes, p.Shape, p.Seen = seen(m)
	input, tensors := m.Data.Shape, m.Network.Merged()
	if p.Features, err = m.Features(); err != nil {
		return nil, nil, err
	}
	if p.Features != nil {
		if b := p.Features.Backbone; b != nil {
			body := &torchNetwork{networkFor(b.Network, b.Layers), n.used}
			p.Backbone = body.sequential(b.Layers, "", m.Data.Shape.Dims(), "        ")
			n.err = body.err
		}
		tensors = append(tensors, constants(*p.Features, m.FeatureMean)...)
		p.Centred, p.Seen, input = m.FeatureMean != nil, "self.features(x)", data.Row(len(p.Features.Flattening.Shift))
	}
	if p.Network = n.sequential(n.layers, "", input.Dims(), "        "); n.err != nil {
		return nil, nil, n.err
	}
	var b bytes.Buffer
	if err := script.Execute(&b, p); err != nil {
		return nil, nil, fmt.Errorf("pytorch: %w", err)
	}
	return b.Bytes(), tensors, nil
}

// seen returns in words what the model takes, and in Python the shape of one example and what the
// network sees of x.
func seen(m *trained.Model) (takes, shape, x string) {
	s := m.Data.Shape
	switch m.Sees() {
	case trained.Pictures:
		return "pictures (N, channels, height, width) with values from 0 to 1", fmt.Sprintf("(%d, %d, %d)", s.Channels, s.Height, s.Width), normalised(m, ".view(-1, 1, 1)")
	case trained.Texts:
		return fmt.Sprintf("texts (N, %d) as the index of each token, then -1", s.Length()), fmt.Sprintf("(%d,)", s.Length()), "x"
	case trained.Rows:
		return fmt.Sprintf("rows (N, %d) of the columns %s", s.Channels, strings.Join(m.Config.Data.Columns, ", ")), fmt.Sprintf("(%d,)", s.Channels), normalised(m, "")
	}
	return fmt.Sprintf("vectors (N, %d) of any length", s.Channels), fmt.Sprintf("(%d,)", s.Channels), "nn.functional.normalize(x, eps=1e-8).half().float()"
}

// normalised returns the Python that normalises x; view is what reshapes mean and deviation for it.
func normalised(m *trained.Model, view string) string {
	constants := m.Normalisation()
	if constants.Identity() {
		return "x"
	}
	return fmt.Sprintf("(x - torch.tensor(%s)%s) / torch.tensor(%s)%s", numbers(constants.Mean), view, numbers(constants.Std), view)
}

func numbers(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		if v == float64(int(v)) {
			texts[i] = fmt.Sprintf("%.1f", v)
		} else {
			texts[i] = fmt.Sprint(v)
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// prefix begins the names of the tensors that features are made with, in the file of weights.
const prefix = "features."

// constants returns the tensors that the features d, and their mean if not nil, are made with.
func constants(d features.Definition, mean []float32) []model.Tensor {
	var tensors []model.Tensor
	add := func(name string, data []float32, shape ...int) {
		if len(data) > 0 {
			tensors = append(tensors, model.Tensor{Name: prefix + name, Shape: shape, Data: data})
		}
	}
	if b := d.Backbone; b != nil {
		for _, t := range b.Network.Export() {
			add("backbone."+t.Name, t.Data, t.Shape...)
		}
	}
	for i, p := range d.Patches {
		add(fmt.Sprint("filters", i), p.Weights, p.Filters, p.Scaled.Channels, p.Size, p.Size)
		add(fmt.Sprint("bias", i), p.Bias, p.Filters)
		add(fmt.Sprint("rows", i), p.Rows, p.Pooling, len(p.Rows)/p.Pooling)
		add(fmt.Sprint("columns", i), p.Columns, p.Pooling, len(p.Columns)/p.Pooling)
	}
	if s := d.Scattering; s != nil {
		add("fine.real", s.Fine.Real, s.Angles, 1, s.Fine.Size, s.Fine.Size)
		add("fine.imaginary", s.Fine.Imaginary, s.Angles, 1, s.Fine.Size, s.Fine.Size)
		add("coarse.real", s.Coarse.Real, s.Angles, 1, s.Coarse.Size, s.Coarse.Size)
		add("coarse.imaginary", s.Coarse.Imaginary, s.Angles, 1, s.Coarse.Size, s.Coarse.Size)
		add("full.vertical", s.Full.Vertical, s.Full.OutHeight, s.Full.Height)
		add("full.horizontal", s.Full.Horizontal, s.Full.OutWidth, s.Full.Width)
		add("half.vertical", s.Half.Vertical, s.Half.OutHeight, s.Half.Height)
		add("half.horizontal", s.Half.Horizontal, s.Half.OutWidth, s.Half.Width)
	}
	if e := d.Encoder; e != nil {
		conv := func(name string, c encoder.ConvolutionDefinition) {
			add(name, c.Weights, c.Out, c.In, c.Size, c.Size)
			add(name+".bias", c.Bias, c.Out)
		}
		conv("encoder.stem", e.Stem)
		for i, b := range e.Blocks {
			name := fmt.Sprintf("encoder.block%d.", i)
			conv(name+"a", b.A)
			conv(name+"b", b.B)
			if b.Shortcut != nil {
				conv(name+"shortcut", *b.Shortcut)
			}
			add(name+"rows", b.Rows, encoder.Cells, len(b.Rows)/encoder.Cells)
			add(name+"columns", b.Columns, encoder.Cells, len(b.Columns)/encoder.Cells)
		}
	}
	f := d.Flattening
	add("shift", f.Shift, len(f.Shift))
	add("gain", f.Gain, len(f.Gain))
	add("directions", f.Directions, len(f.Damping), len(f.Shift))
	add("damping", f.Damping, len(f.Damping))
	add("mean", mean, len(mean))
	return tensors
}

// torchNetwork writes layers as Python.
type torchNetwork struct {
	*network
	used map[string]bool // Python classes to be defined in the file, because torch.nn has no such layer
}

// torchSimple maps the kinds of layers without arguments to their Python expressions.
var torchSimple = map[string]string{
	"global_avg_pool2d": "nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())", "flatten": "nn.Flatten()",
	"first_of_sequence": "FirstOfSequence()", "last_of_sequence": "LastOfSequence()", "mean_over_sequence": "MeanOverSequence()",
	"relu": "nn.ReLU()", "tanh": "nn.Tanh()", "sigmoid": "nn.Sigmoid()", "gelu": "nn.GELU()", "gelu_tanh": "nn.GELU('tanh')", "silu": "nn.SiLU()",
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
		return fmt.Sprintf("nn.Linear(%d, %d%s)", weight[1], weight[0], withBias[l.NoBias])
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
		return fmt.Sprintf("Attention(%d, %d%s, causal=%s)", at.input[1], l.Heads, withBias[l.NoBias], torchBool[l.Causal])
	case model.TransformerEncoder:
		n.used["TransformerEncoder"] = true
		return fmt.Sprintf("TransformerEncoder(%d, %d, %d, activation=%s, norm_first=%s, causal=%s%s)",
			at.input[1], l.Heads, l.FeedForward, torchSimple[l.Activation], torchBool[l.NormFirst], torchBool[l.Causal], withEps("layer_norm_eps", model.LayerNorm{Eps: l.Eps}.Epsilon()))
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
	n.refuse("pytorch", at, l, "Python, expected no layer for tokens: modules of PyTorch know no padding; the format onnx takes them")
	return ""
}

func convolution(class string, l model.Conv2D, at place) string {
	more := withBias[l.NoBias]
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
	return fmt.Sprintf("%s(%d, %d, bidirectional=%s, last=%s)", class, at.input[1], l.Hidden, torchBool[l.Bidirectional], torchBool[l.Last])
}

// torchBool maps truth to Python.
var torchBool = map[bool]string{true: "True", false: "False"}

// withBias maps NoBias of a layer to the argument that says it.
var withBias = map[bool]string{true: ", bias=False"}

// withEps returns the argument of a normalisation that adds another number to variances than most.
func withEps(name string, eps float64) string {
	if eps == normEpsilon {
		return ""
	}
	return fmt.Sprintf(", %s=%v", name, eps)
}

func list(values []int) string { return strings.ReplaceAll(fmt.Sprint(values), " ", ", ") }
