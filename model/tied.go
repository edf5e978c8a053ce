package model

import (
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
)

// TiedLinear is z = xEᵀ with the table E (vocabulary, width) of the network's embedding, which both
// train as one parameter: a value for each token, for vectors or each position of a sequence.
type TiedLinear struct{}

var tiedLinear = kind("Fully connected layer with the table of the embedding as its weight.", func() Layer { return TiedLinear{} }, "tied_output")

func (TiedLinear) Kind() string { return "tied_linear" }

func (TiedLinear) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	at := slices.IndexFunc(p.layers, func(l LayerInfo) bool { return l.Kind == Embedding{}.Kind() })
	if at < 0 {
		return p.reject("found no embedding in front of it, expected the one whose table it uses")
	}
	vocabulary, width, s := p.model.input.Vocabulary, p.layers[at].Output[1], x.Shape()
	if s[len(s)-1] != width || len(s) > 3 {
		return p.reject("its input has shape %v per example, expected vectors of the %d values of the embedding", []int(s[1:]), width)
	}
	own, values := p.path, p.values
	defer func() { p.path, p.values = own, values }() // the parameter is the embedding's
	p.path = strings.Split(p.layers[at].Name, ".")
	return p.product(x, dense{out: vocabulary, noBias: true, weight: "weight"})
}
