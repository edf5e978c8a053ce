package model

import (
	"cmp"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Conv2D is a convolution of images (B, H, W, in) with Out filters and zero padding. PyTorch:
// nn.Conv2d. Its weight is (Out, in/Groups, kernel height, kernel width) there, and (Out, kernel
// height, kernel width, in/Groups) in memory.
type Conv2D struct {
	Out                     int
	Kernel, Stride, Padding Size
	Dilation                Size // pixels from tap to tap; none is 1
	Groups                  int  // of filters, each of which sees one group of channels; 0 is 1
	NoBias                  bool
}

// newConv2D returns a convolution with the defaults of a configuration.
func newConv2D() Conv2D { return Conv2D{Stride: Both(1), Dilation: Both(1), Groups: 1} }

var conv2D = kind("Convolution.", func() Layer { l := newConv2D(); return &l }, "conv")

func (l *Conv2D) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "out_channels", Also: []string{"filters"}, Doc: "Number of filters.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Out, Required: true},
		kernelSize(&l.Kernel),
		{Name: "stride", Doc: "Step between two windows in pixels; default 1.",
			Format: sizes(1), Value: &l.Stride},
		{Name: "padding", Doc: "Rows and columns of zeros on each side; default 0.",
			Format: sizes(0), Value: &l.Padding},
		{Name: "dilation", Also: []string{"dilation_rate"}, Doc: "Step between two values of a filter in pixels; default 1.",
			Format: sizes(1), Value: &l.Dilation, Later: true},
		{Name: "groups", Doc: "Channels and filters are split into so many groups, and filters see the channels of their group alone; as many groups as channels make a depthwise convolution; default 1.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Groups, Later: true},
		bias(&l.NoBias),
	}
}

func (Conv2D) Kind() string { return "conv2d" }

func (l Conv2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return l.forward(p, x, func(c kernel.Conv, w *gorgonia.Node) (*gorgonia.Node, perexample.Rule) {
		return w, perexample.ConvWeight{Conv: c}
	})
}

// forward declares a convolution. filters makes its filters of the weights, and returns the rule of
// the weights.
func (l Conv2D) forward(p *Pass, x *gorgonia.Node, filters func(c kernel.Conv, w *gorgonia.Node) (*gorgonia.Node, perexample.Rule)) *gorgonia.Node {
	batch, height, width, in, ok := p.image(x)
	if !ok {
		return nil
	}
	c, ok := l.geometry(p, height, width, in)
	if !ok {
		return nil
	}
	w := p.Parameter("weight", uniform(c.Taps()), []int{l.Out, in / c.Groups, c.KernelH, c.KernelW}, []int{0, 2, 3, 1})
	made, rule := filters(c, w)
	convolution := kernel.NewConvolution(c, p.Pool())
	return p.affine(x, affine{
		weights: w, rule: rule, filters: made,
		noBias: l.NoBias, bias: perexample.Bias{Positions: c.Positions(), Channels: l.Out}, biasName: "bias", biases: uniform(c.Taps()),
		multiplyAdds: c.Positions() * c.Taps() * l.Out,
		forward: graph.Operation{
			Name: "conv2d", Shape: []int{batch, c.OutHeight(), c.OutWidth(), c.Out}, Grain: convolution.Grain(),
			Prepare: func(in []graph.Array) { convolution.Prepare(in[1].Float32) },
			Rows: func(worker, lo, hi int, z graph.Array, in []graph.Array) {
				var bias []float32
				if len(in) == 3 {
					bias = in[2].Float32
				}
				convolution.Forward(worker, z.Float32, in[0].Float32, bias, lo, hi)
			},
		},
		backward: graph.Operation{
			Name: "conv2d-input-gradient", Grain: convolution.Grain(),
			Prepare: func(in []graph.Array) { convolution.PrepareBack(in[1].Float32) },
			Rows: func(worker, lo, hi int, dx graph.Array, in []graph.Array) {
				convolution.InputGradient(worker, dx.Float32, in[0].Float32, lo, hi)
			},
		},
	})
}

// geometry returns the convolution of images of that size. It rejects the layer if none fits.
func (l Conv2D) geometry(p *Pass, height, width, in int) (kernel.Conv, bool) {
	if l.Dilation == (Size{}) {
		l.Dilation = Both(1)
	}
	l.Groups = cmp.Or(l.Groups, 1)
	k, s, pad, d := l.Kernel, l.Stride, l.Padding, l.Dilation
	high, wide := d.Height*(k.Height-1)+1, d.Width*(k.Width-1)+1
	switch {
	case min(l.Out, k.Height, k.Width, s.Height, s.Width, d.Height, d.Width, l.Groups) < 1 || min(pad.Height, pad.Width) < 0:
		p.reject("it has %d filters of size %v with stride %v, padding %v, dilation %v and groups %d, expected positive numbers and a padding of at least 0", l.Out, k, s, pad, d, l.Groups)
	case in%l.Groups != 0:
		p.reject("%d groups do not divide its input's %d channels", l.Groups, in)
	case l.Out%l.Groups != 0:
		p.reject("%d groups do not divide its %d filters", l.Groups, l.Out)
	case d != Both(1) && (height+2*pad.Height < high || width+2*pad.Width < wide):
		p.reject("its kernel of %d×%d, which dilation %v spreads over %d×%d pixels, with padding %v does not fit an input of %d×%d", k.Height, k.Width, d, high, wide, pad, height, width)
	case height+2*pad.Height < high || width+2*pad.Width < wide:
		p.reject("its kernel of %d×%d with padding %v does not fit an input of %d×%d", k.Height, k.Width, pad, height, width)
	}
	return kernel.Conv{Height: height, Width: width, In: in, Out: l.Out,
		KernelH: k.Height, KernelW: k.Width, StrideH: s.Height, StrideW: s.Width, PadH: pad.Height, PadW: pad.Width,
		DilationH: d.Height, DilationW: d.Width, Groups: l.Groups}, p.Err() == nil
}

// StandardisedConv2D is a [Conv2D] whose filters are standardised before they are used: mean 0,
// norm close to 1 ([perexample.Standardisation]). It takes the place of a Conv2D before a
// [GroupNorm] in the networks of De et al. (arXiv:2204.13650). The weights before standardisation
// are trained, clipped and exported.
type StandardisedConv2D struct{ Conv2D }

var standardisedConv2D = kind("Convolution whose filters are standardised: each has mean 0 and norm 1. The model file holds them as they were before.",
	func() Layer { return &StandardisedConv2D{newConv2D()} }, "ws_conv2d", "std_conv2d")

func (StandardisedConv2D) Kind() string { return "standardised_conv2d" }

func (l StandardisedConv2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return l.forward(p, x, func(c kernel.Conv, w *gorgonia.Node) (*gorgonia.Node, perexample.Rule) {
		if c.Taps() == 1 {
			return p.reject("its filters have 1 value, which standardisation makes 0, expected at least 2"), nil
		}
		s := perexample.NewStandardisation(c.Out, c.Taps())
		p.Keeps(4 * c.Out * c.Taps())
		// No gradient flows to the filters: the rule of the weights forms its own.
		made := p.Apply(graph.Operation{
			Name: "standardise", Type: tensor.Float32, Shape: []int{c.Out, c.Taps()},
			Run: func(filters graph.Array, in []graph.Array) { s.Set(filters.Float32, in[0].Float32) },
		}, w)
		return made, perexample.StandardisedConvWeight{ConvWeight: perexample.ConvWeight{Conv: c}, Standardisation: s}
	})
}
