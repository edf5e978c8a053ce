package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// StandardisedConv2D is a [Conv2D] whose filters are standardised before they are used: mean 0, norm
// 1 ([perexample.Standardisation]). It takes the place of a Conv2D before a [GroupNorm] in the
// networks of De et al. (arXiv:2204.13650). What is trained, clipped and exported is the weights
// before.
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
		return p.standardise(s, w), perexample.StandardisedConvWeight{ConvWeight: perexample.ConvWeight{Conv: c}, Standardisation: s}
	})
}

// standardise makes the filters of the weights. No gradient flows to them: the rule of the weights
// forms its own.
func (p *Pass) standardise(s *perexample.Standardisation, w *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	return p.Apply(graph.Operation{
		Name: "standardise", Type: tensor.Float32, Shape: w.Shape(),
		Run: func(filters graph.Array, in []graph.Array) { s.Set(filters.Float32, in[0].Float32) },
	}, w)
}
