package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MaxPool2D takes the largest value of each window. PyTorch: nn.MaxPool2d (which never looks at
// padding).
type MaxPool2D struct{ Kernel, Stride, Padding int }

var maxPool2D = kind("Largest value of each window.", func() Layer { return &MaxPool2D{} })

// Arguments are what a configuration can set.
func (l *MaxPool2D) Arguments() []setting.Argument { return windowArguments(&l.Kernel, &l.Stride) }

// Kind is "max_pool2d".
func (MaxPool2D) Kind() string { return "max_pool2d" }

// Forward declares the layer.
func (l MaxPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	g, batch, ok := p.window(x, l.Kernel, l.Stride, l.Padding)
	if !ok {
		return nil
	}
	pool := p.Pool()
	size, outSize := g.Height*g.Width*g.Channels, g.OutHeight()*g.OutWidth()*g.Channels
	// Where each maximum came from; written by the forward operation and read by its gradient.
	var argmax []int32
	p.Keeps(4 * batch * outSize)
	pooled := graph.Parallel(pool, batch, graph.Grain(size), func(_, lo, hi int, y graph.Array, in []graph.Array) {
		for i := lo; i < hi; i++ {
			g.MaxPool(y.Float32[i*outSize:(i+1)*outSize], argmax[i*outSize:(i+1)*outSize], in[0].Float32[i*size:(i+1)*size])
		}
	})
	return p.Apply(graph.Operation{
		Name: "max_pool2d", Type: tensor.Float32, Shape: []int{batch, g.OutHeight(), g.OutWidth(), g.Channels},
		Run: func(y graph.Array, in []graph.Array) {
			if argmax == nil {
				argmax = make([]int32, batch*outSize)
			}
			pooled(y, in)
		},
		Gradient: func(_ []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			// y is an input only to say that the forward operation has run.
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "max_pool2d-gradient", Type: tensor.Float32, Shape: x.Shape(),
				Run: graph.Parallel(pool, batch, graph.Grain(size), func(_, lo, hi int, dx graph.Array, in []graph.Array) {
					for i := lo; i < hi; i++ {
						g.MaxPoolGrad(dx.Float32[i*size:(i+1)*size], in[0].Float32[i*outSize:(i+1)*outSize], argmax[i*outSize:(i+1)*outSize])
					}
				}),
			}, dy, y)}
		},
	}, x)
}

// AvgPool2D takes the mean of each window, padding counted as zeros. PyTorch: nn.AvgPool2d.
type AvgPool2D struct{ Kernel, Stride, Padding int }

var avgPool2D = kind("Mean of each window.", func() Layer { return &AvgPool2D{} })

// Arguments are what a configuration can set.
func (l *AvgPool2D) Arguments() []setting.Argument { return windowArguments(&l.Kernel, &l.Stride) }

// Kind is "avg_pool2d".
func (AvgPool2D) Kind() string { return "avg_pool2d" }

// Forward declares the layer.
func (l AvgPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	g, batch, ok := p.window(x, l.Kernel, l.Stride, l.Padding)
	if !ok {
		return nil
	}
	return p.average("avg_pool2d", g, batch, []int{batch, g.OutHeight(), g.OutWidth(), g.Channels}, x)
}

// GlobalAvgPool2D takes the mean of each channel over the whole image and gives vectors (B, C).
// PyTorch: nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), one layer where names are counted.
type GlobalAvgPool2D struct{}

var globalAvgPool2D = kind("Mean over all pixels of each channel.", func() Layer { return GlobalAvgPool2D{} },
	"adaptive_avg_pool2d", "global_average_pool")

// Kind is "global_avg_pool2d".
func (GlobalAvgPool2D) Kind() string { return "global_avg_pool2d" }

// Forward declares the layer.
func (GlobalAvgPool2D) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, height, width, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	g := kernel.Pool2D{Height: height, Width: width, Channels: channels, KernelH: height, KernelW: width, StrideH: height, StrideW: width}
	return p.average("global_avg_pool2d", g, batch, []int{batch, channels}, x)
}

func (p *Pass) average(name string, g kernel.Pool2D, batch int, shape []int, x *gorgonia.Node) *gorgonia.Node {
	size, outSize := g.Height*g.Width*g.Channels, g.OutHeight()*g.OutWidth()*g.Channels
	return p.perExample(name, shape, func(y, x, _ []float32) {
		for i := range len(y) / outSize {
			g.AvgPool(y[i*outSize:(i+1)*outSize], x[i*size:(i+1)*size])
		}
	}, func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perExample(name+"-gradient", x.Shape(), func(dx, dy, _ []float32) {
			for i := range len(dx) / size {
				g.AvgPoolGrad(dx[i*size:(i+1)*size], dy[i*outSize:(i+1)*outSize])
			}
		}, nil, dy)}
	}, x)
}

// windowArguments are those of a pooling window. As in PyTorch, the windows lie side by side when
// no stride is given.
func windowArguments(size, stride *int) []setting.Argument {
	return []setting.Argument{
		kernelSize(size),
		{Name: "stride", Doc: "Step between two windows in pixels; default kernel_size.",
			Format: setting.Integer{Min: 1, Max: 1024}, Value: stride, Otherwise: func() { *stride = *size }},
	}
}

// window checks that a pooling window fits its input.
func (p *Pass) window(x *gorgonia.Node, size, stride, padding int) (g kernel.Pool2D, batch int, ok bool) {
	batch, height, width, channels, ok := p.image(x)
	if !ok {
		return g, 0, false
	}
	if size < 1 || stride < 1 || padding < 0 {
		p.reject("its window has size %d with stride %d and padding %d, expected positive numbers and a padding of at least 0", size, stride, padding)
		return g, 0, false
	}
	if height+2*padding < size || width+2*padding < size || 2*padding > size {
		p.reject("its window of %d×%d with padding %d does not fit an input of %d×%d", size, size, padding, height, width)
		return g, 0, false
	}
	return kernel.Pool2D{Height: height, Width: width, Channels: channels, KernelH: size, KernelW: size,
		StrideH: stride, StrideW: stride, PadH: padding, PadW: padding}, batch, true
}
