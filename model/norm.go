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

// normEpsilon is added to variances where nothing else is said, as in PyTorch.
const normEpsilon = 1e-5

// epsilonOf returns what is added to variances, for an argument that may be 0 in a Go program.
func epsilonOf(argument float64) float64 { return cmp.Or(argument, normEpsilon) }

// GroupNorm normalises each example's channels in groups, over the image and the channels of the
// group, then scales and shifts each channel. It replaces batch normalisation: its statistics come
// from one example. PyTorch: nn.GroupNorm.
type GroupNorm struct{ Groups int }

var groupNorm = kind("Normalisation within each example, over groups of channels.", func() Layer { return &GroupNorm{} })

func (l *GroupNorm) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "num_groups", Also: []string{"groups"}, Doc: "Number of groups; it divides the number of channels.",
		Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Groups, Required: true}}
}

func (GroupNorm) Kind() string { return "group_norm" }

func (l GroupNorm) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, height, width, channels, ok := p.image(x)
	if !ok {
		return nil
	}
	if l.Groups < 1 || channels%l.Groups != 0 {
		return p.reject("%d groups do not divide its input's %d channels", l.Groups, channels)
	}
	return p.scaleShift(p.normalise(x, 1, height*width, channels, l.Groups, normEpsilon), height*width, []int{channels}, nil)
}

// LayerNorm normalises each example over all its values, or each vector of a sequence, then scales
// and shifts each value. PyTorch: nn.LayerNorm over the whole shape of one example, or over the last
// dimension of a sequence.
type LayerNorm struct{ Eps float64 }

var layerNorm = kind("Normalisation within each example, over all its values; in a sequence, over those of each position.", func() Layer { return &LayerNorm{normEpsilon} })

func (l *LayerNorm) Arguments() []setting.Argument { return []setting.Argument{eps(&l.Eps)} }

func (LayerNorm) Kind() string { return "layer_norm" }

// Epsilon returns what is added to variances.
func (l LayerNorm) Epsilon() float64 { return epsilonOf(l.Eps) }

func (l LayerNorm) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	s := x.Shape()
	if len(s) == 3 {
		return p.scaleShift(p.normalise(x, s[1], 1, s[2], 1, l.Epsilon()), s[1], []int{s[2]}, nil)
	}
	values := s.TotalSize() / s[0]
	normalised := p.normalise(x, 1, 1, values, 1, l.Epsilon())
	if len(s) == 4 {
		// PyTorch's gain is (C, H, W), activations here are (H, W, C).
		return p.scaleShift(normalised, 1, []int{s[3], s[1], s[2]}, []int{1, 2, 0})
	}
	return p.scaleShift(normalised, 1, []int{values}, nil)
}

// normalise returns x with mean 0 and variance 1 in every group of channels of every image, of which
// each example has so many.
func (p *Pass) normalise(x *gorgonia.Node, images, positions, channels, groups int, epsilon float64) *gorgonia.Node {
	batch, size := x.Shape()[0], positions*channels
	inverseStd := make([]float32, batch*images*groups) // written by the forward operation and read by its gradient
	row := func(a graph.Array, i int) []float32 { return a.Float32[i*size : (i+1)*size] }
	return p.Apply(graph.Operation{
		Name: "normalise", Type: tensor.Float32, Shape: x.Shape(), InPlace: true,
		Rows: func(_, lo, hi int, y graph.Array, in []graph.Array) {
			for i := lo * images; i < hi*images; i++ {
				kernel.GroupNormForward(row(y, i), inverseStd[i*groups:(i+1)*groups], row(in[0], i), positions, channels, groups, epsilon)
			}
		},
		Gradient: func(_ []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{p.Apply(graph.Operation{
				Name: "normalise-gradient", Type: tensor.Float32, Shape: x.Shape(), InPlace: true,
				Rows: func(_, lo, hi int, dx graph.Array, in []graph.Array) {
					for i := lo * images; i < hi*images; i++ {
						kernel.GroupNormGrad(row(dx, i), row(in[0], i), row(in[1], i), inverseStd[i*groups:(i+1)*groups], positions, channels, groups)
					}
				},
			}, y, dy)}
		},
	}, x)
}

// scaleShift returns x∘γ + β, with parameters γ and β of the given shape, in memory in that order
// of its axes, which are repeated at every position.
func (p *Pass) scaleShift(x *gorgonia.Node, positions int, shape, order []int) *gorgonia.Node {
	gain := p.Parameter("weight", constant(1), shape, order)
	shift := p.Parameter("bias", constant(0), shape, order)
	gains, shifts := p.Values(gain).Float32, p.Values(shift).Float32
	back := func(dx, dz, _ []float32) { kernel.ScaleChannels(dx, dz, gains) }
	z := p.perExample(inPlace, "scale-shift", x.Shape(), func(z, x, _ []float32) { kernel.ScaleShift(z, x, gains, shifts) },
		p.towardInput(func(_ []*gorgonia.Node, dz *gorgonia.Node) *gorgonia.Node {
			return p.perExample(inPlace, "scale-shift-gradient", x.Shape(), back, nil, dz, gain)
		}), x, gain, shift)
	p.Use(gain, perexample.ScaleWeight{Positions: positions, Channels: product(shape)}, x, z)
	p.Use(shift, perexample.Bias{Positions: positions, Channels: product(shape)}, x, z)
	return z
}
