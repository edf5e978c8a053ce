package model

import "dpsgd/internal/setting"

// Kinds lists the layers that a configuration can name: to add one, write its file and add its kind
// here. Each works on one example at a time, which bounds the influence of an example, so there is
// no batch normalisation but a frozen one.
func Kinds() setting.Kinds[Layer] {
	return setting.Kinds[Layer]{
		conv2D, standardisedConv2D, maxPool2D, avgPool2D, globalAvgPool2D, flatten, linear,
		relu, tanh, sigmoid, gelu, geluTanh, silu, temperedSigmoid, groupNorm, layerNorm, frozenBatchNorm, dropout, residual,
		embedding, positionalEmbedding, meanOverSequence, firstOfSequence, lastOfSequence, classToken, patchEmbedding,
		attention, transformerEncoder, lstm, gru, elu, leakyReLU, tiedLinear,
	}
}

// kind makes a row of [Kinds]. The layer says its own name; also lists the names in other
// libraries.
func kind(doc string, fresh func() Layer, also ...string) setting.Kind[Layer] {
	return setting.Kind[Layer]{Name: fresh().Kind(), Also: also, Doc: doc, New: fresh}
}

// List is the format of an argument that holds layers, stored in a *[Sequential]. Package configs
// reads and writes such arguments, as it knows the kinds.
type List struct{ NonEmpty bool }

// Expected returns what an error says after "expected".
func (f List) Expected() string {
	if f.NonEmpty {
		return "a list of at least one layer"
	}
	return "a list of layers"
}

// Schema returns the format's JSON schema, which refers to the schema's definition of layers.
func (f List) Schema() setting.Object {
	s := setting.Object{"$ref", "#/$defs/layers"}
	if f.NonEmpty {
		s = append(s, "minItems", 1)
	}
	return s
}

// Ready is a ready network, with its name.
type Ready struct {
	Name   string
	Layers Sequential
}

// ReadyFormat is the format of an argument that names a ready network, stored in a *[Ready]. Package
// configs reads it, as it knows the networks.
type ReadyFormat struct{}

// Expected returns what an error says after "expected".
func (ReadyFormat) Expected() string { return "the name of a ready network" }

// Schema returns the format's JSON schema.
func (ReadyFormat) Schema() setting.Object { return setting.Object{"type", "string"} }

// Size is a height and a width: of a window, of its steps, of the padding around an image.
type Size = setting.Size

// Both returns a size that is as high as it is wide.
func Both(n int) Size { return Size{Height: n, Width: n} }

// sizes returns the format of a [Size] whose numbers are from least to 1024.
func sizes(least int64) setting.Sizes {
	return setting.Sizes{Of: setting.Integer{Min: least, Max: 1024}}
}

// What several layers have.

func kernelSize(value *Size) setting.Argument {
	return setting.Argument{Name: "kernel_size", Doc: "Height and width of the window in pixels.",
		Format: sizes(1), Value: value, Required: true}
}

func bias(noBias *bool) setting.Argument {
	return setting.Argument{Name: "bias", Doc: "Whether a learned constant is added; default true.",
		Format: setting.Boolean{Negated: true}, Value: noBias}
}

func eps(value *float64) setting.Argument {
	return setting.Argument{Name: "eps", Also: []string{"epsilon", "layer_norm_eps"}, Doc: "Added to variances; default 1.0e-5.",
		Format: setting.Number{Min: 0, Max: 1, OpenMin: true}, Value: value, Later: true}
}
