package exchange

import (
	"encoding/json"
	"fmt"

	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/trained"
)

const (
	operatorSet = 17
	irVersion   = 8 // the first that allows that operator set
	// maxBytes bounds the length of a protocol buffer.
	maxBytes = 1<<31 - 1
)

// ONNX returns the model as the content of an ONNX file.
func ONNX(m *trained.Model) ([]byte, error) {
	layers, err := networkOf(m)
	if err != nil {
		return nil, err
	}
	d, err := m.Features()
	if err != nil {
		return nil, err
	}
	n := &onnxNetwork{onnxGraph: &onnxGraph{names: map[string]int{}}, network: layers}
	in, shape := inputs[m.Sees()], m.Data.Shape.Dims()
	if m.Sees() == trained.Pictures {
		shape = []int{m.Data.Shape.Channels, m.Data.Shape.Height, m.Data.Shape.Width}
	}
	x, seen := n.seen(m, d, in.name)
	n.add("Identity", []string{n.sequential(n.layers, "", seen.Dims(), x)}, "logits")
	if n.err != nil {
		return nil, n.err
	}
	content := n.file(m, n.encode("dpsgd", in.name, shape, "logits", []int{m.Data.Classes}))
	if len(content) > maxBytes {
		return nil, fmt.Errorf("onnx: the model takes %d bytes, expected at most %d, which is what the format can hold", len(content), maxBytes)
	}
	return content, nil
}

// inputs describes what the graph takes, by what the model sees.
var inputs = map[trained.Kind]struct{ name, values string }{
	trained.Pictures: {"pictures", "float32 (N, channels, height, width), red, green, blue or grey from 0 to 1"},
	trained.Rows:     {"rows", "float32 (N, columns), as they stand in the table"},
	trained.Texts:    {"tokens", "float32 (N, length), the index of each token of a text, then -1"},
	trained.Vectors:  {"vectors", "float32 (N, width), of any length"},
}

// seen adds what happens to the input x ahead of the first layer: features or normalisation. It
// returns the name of the result, which the first layer takes, and the shape of one example.
func (n *onnxNetwork) seen(m *trained.Model, d *features.Definition, x string) (string, data.Shape) {
	n.part = "input"
	switch {
	case d != nil:
		return n.featuresOf(m, *d, x)
	case m.Sees() == trained.Vectors:
		return n.halves(n.unit(x)), m.Data.Shape
	}
	constants := m.Normalisation()
	if constants.Identity() {
		return x, m.Data.Shape
	}
	shift, scale := make([]float32, len(constants.Mean)), make([]float32, len(constants.Mean))
	for i, mean := range constants.Mean {
		shift[i], scale[i] = float32(mean), float32(constants.Std[i])
	}
	dims := []int{1, len(shift)}
	if m.Sees() == trained.Pictures {
		dims = append(dims, 1, 1)
	}
	x = n.op("Sub", []string{x, n.floats("mean", shift, dims...)})
	return n.op("Div", []string{x, n.floats("std", scale, dims...)}), m.Data.Shape
}

// unit adds the division of each row of x by its norm, or by 1e-8 if that is larger.
func (g *onnxGraph) unit(x string) string {
	norm := g.op("ReduceL2", []string{x}, attribute{"axes", []int{1}}, attribute{"keepdims", 1})
	return g.op("Div", []string{x, g.op("Max", []string{norm, g.scalar("least_norm", 1e-8)})})
}

// halves adds the rounding of x to half precision, in which [data.Features] keeps computed rows.
func (g *onnxGraph) halves(x string) string {
	x = g.op("Cast", []string{x}, attribute{"to", int(float16Type)})
	return g.op("Cast", []string{x}, attribute{"to", int(float32Type)})
}

// file encodes the whole file, a ModelProto, around its graph.
func (n *onnxNetwork) file(m *trained.Model, graph message) (file message) {
	file.integer(1, irVersion)
	file.text(2, "dpsgd")
	in := inputs[m.Sees()]
	file.text(6, fmt.Sprintf("Trained %s; see the metadata. Input: %q, %s", m.Training(), in.name, in.values))
	file.bytes(7, graph)
	var operators message
	operators.text(1, "")
	operators.integer(2, operatorSet)
	file.bytes(8, operators)
	names, _ := json.Marshal(m.Data.Names) // a list of strings is always JSON
	for _, f := range append(m.Provenance(), trained.Fact{Key: "classes", Value: string(names)}) {
		var pair message
		pair.text(1, f.Key)
		pair.text(2, f.Value)
		file.bytes(14, pair)
	}
	return file
}
