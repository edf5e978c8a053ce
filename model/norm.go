package model

import (
	"dpsgd/internal/kernel"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// normEpsilon is added to variances, as in PyTorch.
const normEpsilon = 1e-5

// GroupNorm normalises each example's channels in groups, over the image and the channels of the group, then scales
// and shifts each channel. It is what replaces batch normalisation: its statistics are those of one example. PyTorch:
// nn.GroupNorm.
type GroupNorm struct{ Groups int }

// Kind is "group_norm".
func (GroupNorm) Kind() string { return "group_norm" }

// Forward declares the layer.
func (l GroupNorm) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, height, width, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	if l.Groups < 1 || channels%l.Groups != 0 {
		return p.reject("%d groups do not divide its input's %d channels", l.Groups, channels)
	}
	return p.scaleShift(p.normalise(x, height*width, channels, l.Groups), height*width, []int{channels}, nil)
}

// LayerNorm normalises each example over all its values, then scales and shifts each value. PyTorch:
// nn.LayerNorm over the whole shape of one example.
type LayerNorm struct{}

// Kind is "layer_norm".
func (LayerNorm) Kind() string { return "layer_norm" }

// Forward declares the layer.
func (LayerNorm) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	s := x.Shape()
	values := s.TotalSize() / s[0]
	normalised := p.normalise(x, 1, values, 1)
	if len(s) == 4 {
		// PyTorch's gain is (C, H, W), activations here are (H, W, C).
		return p.scaleShift(normalised, 1, []int{s[3], s[1], s[2]}, []int{1, 2, 0})
	}
	return p.scaleShift(normalised, 1, []int{values}, nil)
}

// normalise gives every group of every example mean 0 and variance 1.
func (p *Pass) normalise(x *gorgonia.Node, positions, channels, groups int) *gorgonia.Node {
	size := positions * channels
	return p.inPlace("normalise", x.Shape(), func(y, x, _ []float32) {
		for i := 0; i < len(y); i += size {
			kernel.GroupNormForward(y[i:i+size], x[i:i+size], positions, channels, groups, normEpsilon)
		}
	}, func(inputs []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.inPlace("normalise-gradient", x.Shape(), func(dx, x, dy []float32) {
			for i := 0; i < len(dx); i += size {
				kernel.GroupNormGrad(dx[i:i+size], x[i:i+size], dy[i:i+size], positions, channels, groups, normEpsilon)
			}
		}, nil, inputs[0], dy)}
	}, x)
}

// scaleShift is x∘γ + β, with γ and β of the given shape repeated at every position.
func (p *Pass) scaleShift(x *gorgonia.Node, positions int, shape, order []int) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	gain := p.Parameter("weight", constant(1), shape, order)
	shift := p.Parameter("bias", constant(0), shape, order)
	if p.Err() != nil {
		return nil
	}
	channels := product(shape)
	gains, shifts := p.Values(gain).Float32, p.Values(shift).Float32
	z := p.withParameters(x, gain, shift, func(z, x []float32) {
		for t := 0; t < len(z); t += channels {
			for c, g := range gains {
				z[t+c] = x[t+c]*g + shifts[c]
			}
		}
	}, func(dx, dz []float32) {
		for t := 0; t < len(dx); t += channels {
			for c, g := range gains {
				dx[t+c] = dz[t+c] * g
			}
		}
	})
	p.Use(gain, perexample.ScaleWeight{Positions: positions, Channels: channels}, x, z)
	p.Use(shift, perexample.Bias{Positions: positions, Channels: channels}, x, z)
	return z
}
