package model

import (
	"strconv"

	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
)

// Sequential runs layers one after the other, named "0", "1", … as in PyTorch's nn.Sequential.
type Sequential []Layer

func (Sequential) Kind() string { return "sequential" }

func (s Sequential) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	for i, l := range s {
		x = p.Layer(strconv.Itoa(i), l, x)
	}
	return x
}

// Residual adds the outputs of Shortcut and Body; an empty Shortcut passes its input on.
type Residual struct{ Body, Shortcut Sequential }

var residual = kind("body(x) + shortcut(x).", func() Layer { return &Residual{} })

func (r *Residual) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "body", Doc: "The layers of the main branch.", Format: List{NonEmpty: true}, Value: &r.Body, Required: true},
		{Name: "shortcut", Also: []string{"skip", "downsample"}, Doc: "The layers of the other branch; without it, the identity.", Format: List{}, Value: &r.Shortcut},
	}
}

func (Residual) Kind() string { return "residual" }

// Forward declares both branches and their sum.
func (r Residual) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	body := p.branch("body", r.Body, x)
	shortcut := x
	if len(r.Shortcut) > 0 {
		shortcut = p.branch("shortcut", r.Shortcut, x)
	}
	if p.Err() != nil {
		return nil
	}
	if !body.Shape().Eq(shortcut.Shape()) {
		return p.reject("its body gives shape %v per example and its shortcut %v, expected the same; a conv2d with kernel_size 1 in the shortcut can change the channels", []int(body.Shape()[1:]), []int(shortcut.Shape()[1:]))
	}
	return p.sum(body, shortcut)
}

// sum returns body + shortcut, two nodes of one shape.
func (p *Pass) sum(body, shortcut *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	z := p.perExample(inPlace, "add", body.Shape(), kernel.Add, func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
		gradients := make([]*gorgonia.Node, len(inputs))
		for i, in := range inputs {
			if p.Tracked(in) {
				gradients[i] = dz
			}
		}
		return gradients
	}, body, shortcut)
	if lengths, known := p.lengths[body]; known {
		p.setLengths(z, lengths)
	}
	return z
}

// branch declares the layers of s under a name inside the current layer, and returns their output.
func (p *Pass) branch(name string, s Sequential, x *gorgonia.Node) *gorgonia.Node {
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	return s.Forward(p, x)
}

// Flatten turns images into vectors in PyTorch's order, channels first, so that the weights of the
// linear layer behind it can be exchanged. Rows of numbers are vectors already and pass. PyTorch:
// nn.Flatten.
type Flatten struct{}

var flatten = kind("All values of an example in one row.", func() Layer { return Flatten{} })

func (Flatten) Kind() string { return "flatten" }

func (Flatten) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if p.model.input.row() {
		return x
	}
	batch, height, width, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	positions := height * width
	if channels == 1 || positions == 1 {
		return p.Reshape(x, batch, positions*channels)
	}
	return p.perExample(apart, "flatten", []int{batch, positions * channels}, func(y, x, _ []float32) {
		kernel.Transpose(y, x, len(y)/(positions*channels), positions, channels)
	}, func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perExample(apart, "flatten-gradient", x.Shape(), func(dx, dy, _ []float32) {
			kernel.Transpose(dx, dy, len(dx)/(positions*channels), channels, positions)
		}, nil, dy)}
	}, x)
}
