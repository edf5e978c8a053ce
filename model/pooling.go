package model

import (
	"sync"

	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MaxPool2D takes the largest value of each window; padding is never the largest. PyTorch:
// nn.MaxPool2d.
type MaxPool2D struct{ Kernel, Stride, Padding Size }

var maxPool2D = kind("Largest value of each window.", func() Layer { return &MaxPool2D{} })

func (l *MaxPool2D) Arguments() []setting.Argument {
	return windowArguments(&l.Kernel, &l.Stride, &l.Padding, "Rows and columns on each side that are never the largest")
}

func (MaxPool2D) Kind() string { return "max_pool2d" }

func (l MaxPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	g, batch, ok := p.window(x, l.Kernel, l.Stride, l.Padding)
	if !ok {
		return nil
	}
	size, outSize := g.Height*g.Width*g.Channels, g.OutHeight()*g.OutWidth()*g.Channels
	// Where each maximum came from; written by the forward operation and read by its gradient.
	argmax := sync.OnceValue(func() []int32 { return make([]int32, batch*outSize) })
	p.Keeps(4 * batch * outSize)
	pooled := func(_, lo, hi int, y graph.Array, in []graph.Array) {
		for i := lo; i < hi; i++ {
			g.MaxPool(y.Float32[i*outSize:(i+1)*outSize], argmax()[i*outSize:(i+1)*outSize], in[0].Float32[i*size:(i+1)*size])
		}
	}
	return p.Apply(graph.Operation{
		Name: "max_pool2d", Type: tensor.Float32, Shape: []int{batch, g.OutHeight(), g.OutWidth(), g.Channels},
		Work: size, Rows: pooled,
		Gradient: func(_ []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			// y is an input only to say that the forward operation has run.
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "max_pool2d-gradient", Type: tensor.Float32, Shape: x.Shape(),
				Rows: func(_, lo, hi int, dx graph.Array, in []graph.Array) {
					for i := lo; i < hi; i++ {
						g.MaxPoolGrad(dx.Float32[i*size:(i+1)*size], in[0].Float32[i*outSize:(i+1)*outSize], argmax()[i*outSize:(i+1)*outSize])
					}
				},
			}, dy, y)}
		},
	}, x)
}

// AvgPool2D takes the mean of each window. Padding counts as zeros, so that all means divide by the
// size of the window, unless OnlyInside is set. PyTorch: nn.AvgPool2d.
type AvgPool2D struct {
	Kernel, Stride, Padding Size
	OnlyInside              bool
}

var avgPool2D = kind("Mean of each window.", func() Layer { return &AvgPool2D{} })

func (l *AvgPool2D) Arguments() []setting.Argument {
	return append(windowArguments(&l.Kernel, &l.Stride, &l.Padding, "Rows and columns of zeros on each side"),
		setting.Argument{Name: "count_include_pad", Doc: "Whether padding counts: every mean divides by the size of the window, or by the pixels of the window inside of the image; default true, as in PyTorch.",
			Format: setting.Boolean{Negated: true}, Value: &l.OnlyInside, Later: true})
}

func (AvgPool2D) Kind() string { return "avg_pool2d" }

func (l AvgPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	g, batch, ok := p.window(x, l.Kernel, l.Stride, l.Padding)
	if !ok {
		return nil
	}
	g.OnlyInside = l.OnlyInside
	return p.average("avg_pool2d", g, []int{batch, g.OutHeight(), g.OutWidth(), g.Channels}, x)
}

// GlobalAvgPool2D takes the mean of each channel over the whole image and gives vectors (B, C).
// PyTorch: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), one layer where names are counted.
type GlobalAvgPool2D struct{}

var globalAvgPool2D = kind("Mean over all pixels of each channel.", func() Layer { return GlobalAvgPool2D{} },
	"adaptive_avg_pool2d", "global_average_pool")

func (GlobalAvgPool2D) Kind() string { return "global_avg_pool2d" }

func (GlobalAvgPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, height, width, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	g := kernel.Pool2D{Height: height, Width: width, Channels: channels, KernelH: height, KernelW: width, StrideH: height, StrideW: width}
	return p.average("global_avg_pool2d", g, []int{batch, channels}, x)
}

func (p *Pass) average(name string, g kernel.Pool2D, shape []int, x *gorgonia.Node) *gorgonia.Node {
	size, outSize := g.Height*g.Width*g.Channels, g.OutHeight()*g.OutWidth()*g.Channels
	return p.perExample(apart, name, shape, func(y, x, _ []float32) {
		for i := range len(y) / outSize {
			g.AvgPool(y[i*outSize:(i+1)*outSize], x[i*size:(i+1)*size])
		}
	}, func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perExample(apart, name+"-gradient", x.Shape(), func(dx, dy, _ []float32) {
			for i := range len(dx) / size {
				g.AvgPoolGrad(dx[i*size:(i+1)*size], dy[i*outSize:(i+1)*outSize])
			}
		}, nil, dy)}
	}, x)
}

// windowArguments lists the arguments of a pooling window. As in PyTorch, the windows lie side by
// side when no stride is given.
func windowArguments(size, stride, padding *Size, meaning string) []setting.Argument {
	return []setting.Argument{
		kernelSize(size),
		{Name: "stride", Doc: "Step between two windows in pixels; default kernel_size.",
			Format: sizes(1), Value: stride, Otherwise: func() { *stride = *size }},
		{Name: "padding", Doc: meaning + ", at most half of kernel_size; default 0.",
			Format: sizes(0), Value: padding, Later: true},
	}
}

// window returns the geometry of pooling x, and its batch. It rejects a window that does not fit.
func (p *Pass) window(x *gorgonia.Node, size, stride, padding Size) (g kernel.Pool2D, batch int, ok bool) {
	batch, height, width, channels, ok := p.image(x)
	if !ok {
		return g, 0, false
	}
	switch {
	case min(size.Height, size.Width, stride.Height, stride.Width) < 1 || min(padding.Height, padding.Width) < 0:
		p.reject("its window has size %v with stride %v and padding %v, expected positive numbers and a padding of at least 0", size, stride, padding)
	case 2*padding.Height > size.Height || 2*padding.Width > size.Width:
		p.reject("its window of %d×%d has a padding of %v, expected at most half of the window", size.Height, size.Width, padding)
	case height+2*padding.Height < size.Height || width+2*padding.Width < size.Width:
		p.reject("its window of %d×%d with padding %v does not fit an input of %d×%d", size.Height, size.Width, padding, height, width)
	}
	return kernel.Pool2D{Height: height, Width: width, Channels: channels, KernelH: size.Height, KernelW: size.Width,
		StrideH: stride.Height, StrideW: stride.Width, PadH: padding.Height, PadW: padding.Width}, batch, p.Err() == nil
}
