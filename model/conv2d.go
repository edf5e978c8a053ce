package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Conv2D is a convolution of images (B, H, W, in) with Out square filters and zero padding.
// PyTorch: nn.Conv2d. Its weight is (Out, in, Kernel, Kernel) there and (Out, Kernel, Kernel, in)
// in memory.
type Conv2D struct {
	Out, Kernel, Stride, Padding int
	NoBias                       bool
}

var conv2D = kind("Convolution.", func() Layer { return &Conv2D{Stride: 1} }, "conv")

// Arguments are what a configuration can set.
func (l *Conv2D) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "out_channels", Also: []string{"filters"}, Doc: "Number of filters.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Out, Required: true},
		kernelSize(&l.Kernel),
		{Name: "stride", Doc: "Step between two windows in pixels; default 1.",
			Format: setting.Integer{Min: 1, Max: 1024}, Value: &l.Stride},
		{Name: "padding", Doc: "Rows and columns of zeros on each side; default 0.",
			Format: setting.Integer{Min: 0, Max: 1024}, Value: &l.Padding},
		bias(&l.NoBias),
	}
}

// Kind is "conv2d".
func (Conv2D) Kind() string { return "conv2d" }

// Forward declares the layer.
func (l Conv2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return l.forward(p, x, func(c kernel.Conv, w *gorgonia.Node) (*gorgonia.Node, perexample.Rule) {
		return w, perexample.ConvWeight{Conv: c}
	})
}

// forward declares a convolution whose filters are made of the weights, with the rule of these.
func (l Conv2D) forward(p *Pass, x *gorgonia.Node, filters func(c kernel.Conv, w *gorgonia.Node) (*gorgonia.Node, perexample.Rule)) *gorgonia.Node {
	batch, height, width, in, ok := p.image(x)
	if !ok {
		return nil
	}
	if l.Out < 1 || l.Kernel < 1 || l.Stride < 1 || l.Padding < 0 {
		return p.reject("it has %d filters of size %d with stride %d and padding %d, expected positive numbers and a padding of at least 0", l.Out, l.Kernel, l.Stride, l.Padding)
	}
	c := kernel.Conv{Height: height, Width: width, In: in, Out: l.Out,
		KernelH: l.Kernel, KernelW: l.Kernel, StrideH: l.Stride, StrideW: l.Stride, PadH: l.Padding, PadW: l.Padding}
	if height+2*l.Padding < l.Kernel || width+2*l.Padding < l.Kernel {
		return p.reject("its kernel of %d×%d with padding %d does not fit an input of %d×%d", l.Kernel, l.Kernel, l.Padding, height, width)
	}
	w := p.Parameter("weight", uniform(c.Taps()), []int{l.Out, in, l.Kernel, l.Kernel}, []int{0, 2, 3, 1})
	made, rule := filters(c, w)
	parameters := []*gorgonia.Node{made}
	if !l.NoBias {
		parameters = append(parameters, p.Parameter("bias", uniform(c.Taps()), []int{l.Out}, nil))
	}
	z := p.convolution(c, batch, x, parameters)
	p.Use(w, rule, x, z)
	if !l.NoBias {
		p.Use(parameters[1], perexample.Bias{Positions: c.Positions(), Channels: l.Out}, x, z)
	}
	p.Count(c.Positions() * c.Taps() * l.Out)
	return z
}

// convolution computes z = x ⋆ w + b with w or w, b.
func (p *Pass) convolution(c kernel.Conv, batch int, x *gorgonia.Node, parameters []*gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	convolution := kernel.NewConvolution(c, p.Pool())
	return p.Apply(graph.Operation{
		Name: "conv2d", Type: tensor.Float32, Shape: []int{batch, c.OutHeight(), c.OutWidth(), c.Out},
		Run: func(z graph.Array, in []graph.Array) {
			var bias []float32
			if len(in) == 3 {
				bias = in[2].Float32
			}
			convolution.Forward(z.Float32, in[0].Float32, in[1].Float32, bias, batch)
		},
		Gradient: func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
			gradients := make([]*gorgonia.Node, len(inputs))
			if p.Tracked(inputs[0]) {
				gradients[0] = p.convolutionInputGradient(c, batch, dz, inputs[1])
			}
			return gradients
		},
	}, append([]*gorgonia.Node{x}, parameters...)...)
}

func (p *Pass) convolutionInputGradient(c kernel.Conv, batch int, dz, w *gorgonia.Node) *gorgonia.Node {
	convolution := kernel.NewConvolution(c, p.Pool())
	return p.Apply(graph.Operation{
		Name: "conv2d-input-gradient", Type: tensor.Float32, Shape: []int{batch, c.Height, c.Width, c.In},
		Run: func(dx graph.Array, in []graph.Array) {
			convolution.InputGradient(dx.Float32, in[0].Float32, in[1].Float32, batch)
		},
	}, dz, w)
}
