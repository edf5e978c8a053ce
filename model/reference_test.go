package model_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpsgd/model"
)

// reference is a network written out in float64 loops, in PyTorch's layout (channels, height,
// width), from exported parameters. It is slow, short and shares no code with the package.
type reference struct {
	layers     model.Sequential
	parameters map[string][]float64
	// closest is how near another value came to the largest in a window of a max pool.
	closest float64
	lora    model.LoRA
}

func newReference(m *model.Model, layers model.Sequential) *reference {
	r := &reference{layers: layers, parameters: map[string][]float64{}, closest: math.Inf(1)}
	r.lora, _ = m.Adapters()
	for _, t := range m.Export() {
		wide := make([]float64, len(t.Data))
		for i, v := range t.Data {
			wide[i] = float64(v)
		}
		r.parameters[t.Name] = wide
	}
	return r
}

// planes is one example between two layers; a vector has height and width 1.
type planes struct {
	data     []float64
	c, h, w  int
	sequence bool // of h vectors of c values, without padding
}

func newPlanes(c, h, w int) planes { return planes{data: make([]float64, c*h*w), c: c, h: h, w: w} }

// at is 0 in the padding.
func (p planes) at(c, h, w int) float64 {
	if h < 0 || h >= p.h || w < 0 || w >= p.w {
		return 0
	}
	return p.data[(c*p.h+h)*p.w+w]
}

func (p planes) each(f func(x float64) float64) planes {
	y := newPlanes(p.c, p.h, p.w)
	for i, v := range p.data {
		y.data[i] = f(v)
	}
	return y
}

func (p planes) inside(h, w int) bool { return h >= 0 && h < p.h && w >= 0 && w < p.w }

// logits of one image (H, W, C).
func (r *reference) logits(image []float32, in model.Input) []float64 {
	if in.Length > 0 {
		return r.sequence(r.layers, "", sequenceOf(image, in)).data
	}
	x := newPlanes(in.Channels, in.Height, in.Width)
	for h := range in.Height {
		for w := range in.Width {
			for c := range in.Channels {
				x.data[(c*in.Height+h)*in.Width+w] = float64(image[(h*in.Width+w)*in.Channels+c])
			}
		}
	}
	return r.sequence(r.layers, "", x).data
}

// loss is the cross-entropy of one image.
func (r *reference) loss(image []float32, in model.Input, label int32) float64 {
	z := r.logits(image, in)
	largest := math.Inf(-1)
	for _, v := range z {
		largest = math.Max(largest, v)
	}
	var sum float64
	for _, v := range z {
		sum += math.Exp(v - largest)
	}
	return math.Log(sum) + largest - z[label]
}

func (r *reference) sequence(layers model.Sequential, prefix string, x planes) planes {
	for i, l := range layers {
		x = r.layer(l, prefix+strconv.Itoa(i)+".", x)
	}
	return x
}

func (r *reference) layer(l model.Layer, prefix string, x planes) planes {
	if y, ok := r.sequenceLayer(l, prefix, x); ok {
		return y
	}
	switch l := l.(type) {
	case model.Conv2D:
		return r.convolution(l, prefix, x)
	case model.StandardisedConv2D:
		return r.standardisedConvolution(l, prefix, x)
	case model.Linear:
		return r.linear(l, prefix, x)
	case model.TiedLinear: // the embedding is the first layer
		return r.linear(model.Linear{Out: len(r.parameters["0.weight"]) / x.c}, "0.", x)
	case model.GroupNorm:
		return r.scaleShift(prefix, normalise(x, l.Groups))
	case model.LayerNorm:
		return r.scaleShift(prefix, normalise(x, 1))
	case model.FrozenBatchNorm:
		y := newPlanes(x.c, x.h, x.w)
		for i, v := range x.data {
			c := i / (x.h * x.w)
			of := func(name string) float64 { return r.parameters[prefix+name][c] }
			y.data[i] = (v-of("running_mean"))/math.Sqrt(of("running_var")+l.Epsilon())*of("weight") + of("bias")
		}
		return y
	case model.Activation:
		return x.each(activations[l.Kind()])
	case model.LeakyReLU:
		return x.each(func(x float64) float64 { return max(x, l.Slope*x) })
	case model.ELU:
		return x.each(func(x float64) float64 { return max(x, 0) + l.Alpha*math.Expm1(min(x, 0)) })
	case model.PatchEmbedding:
		y := r.convolution(model.Conv2D{Out: l.Out, Kernel: model.Both(l.Patch), Stride: model.Both(l.Patch)}, prefix, x)
		return planes{data: y.data, c: y.c, h: y.h * y.w, w: 1, sequence: true}
	case model.TemperedSigmoid:
		return x.each(func(x float64) float64 { return l.Scale/(1+math.Exp(-l.InverseTemperature*x)) - l.Offset })
	case model.MaxPool2D:
		return pool(x, l.Kernel, l.Stride, l.Padding, func(window []float64, _ int) float64 {
			largest := slices.Max(window)
			for _, v := range window {
				if v < largest {
					r.closest = math.Min(r.closest, largest-v)
				}
			}
			return largest
		})
	case model.AvgPool2D:
		return pool(x, l.Kernel, l.Stride, l.Padding, func(window []float64, size int) float64 {
			if l.OnlyInside {
				size = len(window)
			}
			return mean(window, size)
		})
	case model.GlobalAvgPool2D:
		y := newPlanes(x.c, 1, 1)
		for c := range x.c {
			y.data[c] = mean(x.data[c*x.h*x.w:(c+1)*x.h*x.w], x.h*x.w)
		}
		return y
	case model.Flatten:
		return planes{data: x.data, c: len(x.data), h: 1, w: 1}
	case model.Residual:
		return add(r.sequence(l.Body, prefix+"body.", x), r.sequence(l.Shortcut, prefix+"shortcut.", x))
	case model.Dropout:
		return x
	}
	panic(fmt.Sprintf("the reference lacks the layer %T", l))
}

var activations = map[string]func(x float64) float64{
	"relu":      func(x float64) float64 { return math.Max(x, 0) },
	"tanh":      math.Tanh,
	"sigmoid":   func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"gelu":      func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
	"gelu_tanh": func(x float64) float64 { return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2 },
	"silu":      func(x float64) float64 { return x / (1 + math.Exp(-x)) },
}

func (r *reference) convolution(l model.Conv2D, prefix string, x planes) planes {
	weight, bias := r.parameters[prefix+"weight"], r.parameters[prefix+"bias"]
	k, s, p, d, groups := l.Kernel, l.Stride, l.Padding, l.Dilation, max(l.Groups, 1)
	if d == (model.Size{}) {
		d = model.Both(1)
	}
	y := newPlanes(l.Out, (x.h+2*p.Height-d.Height*(k.Height-1)-1)/s.Height+1, (x.w+2*p.Width-d.Width*(k.Width-1)-1)/s.Width+1)
	channels, filters := x.c/groups, l.Out/groups
	for o := range l.Out {
		for h := range y.h {
			for w := range y.w {
				var sum float64
				if bias != nil {
					sum = bias[o]
				}
				for c := range channels {
					for i := range k.Height {
						for j := range k.Width {
							sum += weight[((o*channels+c)*k.Height+i)*k.Width+j] *
								x.at(o/filters*channels+c, h*s.Height-p.Height+i*d.Height, w*s.Width-p.Width+j*d.Width)
						}
					}
				}
				y.data[(o*y.h+h)*y.w+w] = sum
			}
		}
	}
	return y
}

// standardisedConvolution is the convolution with filters of mean 0 and sum of squares 1, but for
// 1e-4.
func (r *reference) standardisedConvolution(l model.StandardisedConv2D, prefix string, x planes) planes {
	raw := r.parameters[prefix+"weight"]
	filters := make([]float64, len(raw))
	taps := len(raw) / l.Out
	for o := range l.Out {
		filter := raw[o*taps : (o+1)*taps]
		m, squares := mean(filter, taps), 0.0
		for _, v := range filter {
			squares += (v - m) * (v - m)
		}
		for i, v := range filter {
			filters[o*taps+i] = (v - m) / math.Sqrt(squares+1e-4)
		}
	}
	standardised := &reference{parameters: map[string][]float64{prefix + "weight": filters, prefix + "bias": r.parameters[prefix+"bias"]}}
	return standardised.convolution(l.Conv2D, prefix, x)
}

// weight returns W, with alpha/rank·BA where it has factors.
func (r *reference) weight(name string) []float64 {
	prefix, w := name[:strings.LastIndex(name, ".")+1], slices.Clone(r.parameters[name])
	a, b, rank := r.parameters[prefix+"lora_A.weight"], r.parameters[prefix+"lora_B.weight"], r.lora.Rank
	for i, v := range b {
		in := len(a) / rank
		for j := range in {
			w[i/rank*in+j] += r.lora.Alpha / float64(rank) * v * a[i%rank*in+j]
		}
	}
	return w
}

func (r *reference) linear(l model.Linear, prefix string, x planes) planes {
	weight, bias := r.weight(prefix+"weight"), r.parameters[prefix+"bias"]
	y := newPlanes(l.Out, 1, 1)
	for o := range y.data {
		if bias != nil {
			y.data[o] = bias[o]
		}
		for i, v := range x.data {
			y.data[o] += weight[o*len(x.data)+i] * v
		}
	}
	return y
}

// normalise gives groups of channels mean 0 and variance 1.
func normalise(x planes, groups int) planes {
	y := newPlanes(x.c, x.h, x.w)
	size := len(x.data) / groups
	for g := range groups {
		group := x.data[g*size : (g+1)*size]
		m := mean(group, size)
		var variance float64
		for _, v := range group {
			variance += (v - m) * (v - m) / float64(size)
		}
		for i, v := range group {
			y.data[g*size+i] = (v - m) / math.Sqrt(variance+1e-5)
		}
	}
	return y
}

// scaleShift has gains for channels or, with as many gains as values, for values.
func (r *reference) scaleShift(prefix string, x planes) planes {
	gain, shift := r.parameters[prefix+"weight"], r.parameters[prefix+"bias"]
	y := newPlanes(x.c, x.h, x.w)
	per := len(x.data) / len(gain)
	for i, v := range x.data {
		y.data[i] = v*gain[i/per] + shift[i/per]
	}
	return y
}

// pool applies f to the values of each window that lie in the image; size counts the padding too.
func pool(x planes, k, s, p model.Size, f func(window []float64, size int) float64) planes {
	y := newPlanes(x.c, (x.h+2*p.Height-k.Height)/s.Height+1, (x.w+2*p.Width-k.Width)/s.Width+1)
	for c := range x.c {
		for h := range y.h {
			for w := range y.w {
				var window []float64
				for i := range k.Height {
					for j := range k.Width {
						if at, aw := h*s.Height-p.Height+i, w*s.Width-p.Width+j; x.inside(at, aw) {
							window = append(window, x.at(c, at, aw))
						}
					}
				}
				y.data[(c*y.h+h)*y.w+w] = f(window, k.Height*k.Width)
			}
		}
	}
	return y
}

func mean(values []float64, count int) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(count)
}

func add(x, y planes) planes {
	z := newPlanes(x.c, x.h, x.w)
	for i := range z.data {
		z.data[i] = x.data[i] + y.data[i]
	}
	return z
}

// gradient is the gradient of one example's loss by central differences, in the order and layout of
// Model.Values.
func (r *reference) gradient(m *model.Model, image []float32, label int32) []float64 {
	const h = 1e-6
	g := make([]float64, len(m.Values))
	for _, p := range m.Parameters() {
		values := r.parameters[p.Name]
		derivatives := make([]float64, len(values))
		for i, v := range values {
			values[i] = v + h
			above := r.loss(image, m.Input(), label)
			values[i] = v - h
			derivatives[i] = (above - r.loss(image, m.Input(), label)) / (2 * h)
			values[i] = v
		}
		copy(g[p.Offset:], toMemory(p.Shape, derivatives))
	}
	return g
}

// toMemory reorders a parameter from PyTorch's layout to the package's, channels last.
func toMemory(shape []int, torch []float64) []float64 {
	memory := make([]float64, 0, len(torch))
	outer, channels := 1, 1
	switch len(shape) {
	case 4: // (out, in, kh, kw)
		outer, channels = shape[0], shape[1]
	case 3: // (channels, height, width)
		channels = shape[0]
	default:
		return torch
	}
	positions := len(torch) / outer / channels
	for o := range outer {
		for p := range positions {
			for c := range channels {
				memory = append(memory, torch[(o*channels+c)*positions+p])
			}
		}
	}
	return memory
}

// Logits and losses equal those computed by the formulas of the layers, in training and in
// prediction.
func TestForwardEqualsReference(t *testing.T) {
	const n = 4
	forEachNetwork(t, func(t *testing.T, net network) {
		m := net.model(t)
		r := newReference(m, net.layers)
		in := draw(m, n, 3)
		if m.Input().Length > 0 {
			empty(in.image(n-1), m.Input())
		}
		got := newStep(t, m, options{batch: n, clipNorm: 1}).run(t, in)
		predicted := predict(t, m, in)
		for i := range n {
			want := r.logits(in.image(i), m.Input())
			if d := distance(got.logits[i*classes:(i+1)*classes], want); d > 1e-5*norm(want) {
				t.Errorf("logits of example %d are %v, expected %v", i, got.logits[i*classes:(i+1)*classes], want)
			}
			if loss := r.loss(in.image(i), m.Input(), in.labels[i]); math.Abs(float64(got.losses[i])-loss) > 1e-5*(1+loss) {
				t.Errorf("loss of example %d is %v, expected %v", i, got.losses[i], loss)
			}
		}
		if !sameBits(predicted, got.logits) {
			t.Errorf("prediction gives logits %v, training %v", predicted, got.logits)
		}
	})
}
