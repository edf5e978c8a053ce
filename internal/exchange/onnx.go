package exchange

import (
	"encoding/json"
	"fmt"

	"dpsgd/data"
	"dpsgd/internal/trained"
	"dpsgd/model"
)

const (
	operatorSet = 17
	irVersion   = 8 // the first that allows that operator set
	// maxBytes is what a protocol buffer can be long.
	maxBytes = 1<<31 - 1
)

// ONNX returns the content of an ONNX file with the model.
func ONNX(m *trained.Model) ([]byte, error) {
	n := &onnxNetwork{onnxGraph: &onnxGraph{}, tensors: map[string]model.Tensor{}, shapes: map[string][]int{}, classes: m.Data.Classes}
	for _, t := range m.Network.Export() {
		n.tensors[t.Name] = t
	}
	for _, l := range m.Network.Layers() {
		n.shapes[l.Name] = l.Output
	}
	name, shape := onnxInput(m)
	x, seen, err := n.seen(m, name)
	if err != nil {
		return nil, err
	}
	layers, err := m.Config.Model.Network()
	if err != nil {
		return nil, err
	}
	if x, err = n.sequential(layers, "", seen.Dims(), x); err != nil {
		return nil, err
	}
	n.add("Identity", []string{x}, "logits")
	content := n.file(m, n.encode("dpsgd", name, shape, "logits", []int{m.Data.Classes}))
	if len(content) > maxBytes {
		return nil, fmt.Errorf("onnx: the model takes %d bytes, expected at most %d, which is what the format can hold", len(content), maxBytes)
	}
	return content, nil
}

// onnxInput is the name of the graph's input and its shape for one example.
func onnxInput(m *trained.Model) (name string, shape []int) {
	s := m.Data.Shape
	switch m.Sees() {
	case trained.Pictures:
		return "pictures", []int{s.Channels, s.Height, s.Width}
	case trained.Rows:
		return "rows", []int{s.Channels}
	}
	return "vectors", []int{s.Channels}
}

// seen adds what is done to the input ahead of the first layer, and returns the shape of that.
func (n *onnxNetwork) seen(m *trained.Model, x string) (string, data.Shape, error) {
	n.part = "input"
	switch {
	case m.Config.Features.Any():
		return n.featuresOf(m, x)
	case m.Sees() == trained.Vectors:
		return n.halves(n.unit(x)), m.Data.Shape, nil
	}
	constants := m.Normalisation()
	if constants.Identity() {
		return x, m.Data.Shape, nil
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
	return n.op("Div", []string{x, n.floats("std", scale, dims...)}), m.Data.Shape, nil
}

// unit divides rows by their norm, or by a tiny number where that is larger.
func (g *onnxGraph) unit(x string) string {
	norm := g.op("ReduceL2", []string{x}, attribute{"axes", []int{1}}, attribute{"keepdims", 1})
	return g.op("Div", []string{x, g.op("Max", []string{norm, g.scalar("least_norm", 1e-8)})})
}

// halves rounds to half precision, in which computed rows are kept: see [data.Features].
func (g *onnxGraph) halves(x string) string {
	x = g.op("Cast", []string{x}, attribute{"to", int(float16Type)})
	return g.op("Cast", []string{x}, attribute{"to", int(float32Type)})
}

// file is a ModelProto.
func (n *onnxNetwork) file(m *trained.Model, graph message) (file message) {
	file.integer(1, irVersion)
	file.text(2, "dpsgd")
	file.text(6, "Trained "+m.Training()+"; see the metadata. Input: "+described[m.Sees()])
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

// described says what the input is.
var described = map[trained.Kind]string{
	trained.Pictures: `"pictures", float32 (N, channels, height, width), red, green, blue or grey from 0 to 1`,
	trained.Rows:     `"rows", float32 (N, columns), as they stand in the table`,
	trained.Vectors:  `"vectors", float32 (N, width), of any length`,
}
