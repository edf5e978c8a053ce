package exchange

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields and types are those of
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.

// elementType is a TensorProto.DataType.
type elementType int64

const (
	float32Type elementType = 1
	int32Type   elementType = 6
	int64Type   elementType = 7
	float16Type elementType = 10
)

// onnxGraph is an ONNX graph under construction. Its values have names: methods that add to the
// graph take the names of their inputs and return the name of their result.
type onnxGraph struct {
	nodes, constants []message
	part             string // of the model that is being added: the prefix of the names of its values
	names            map[string]int
}

// attribute is a named argument of an operator: an int, a float32, a string or []int.
type attribute struct {
	name  string
	value any
}

// unique returns a new name for a value of the current part, made of its name and what.
func (g *onnxGraph) unique(what string) string {
	name := g.part + "/" + what
	g.names[name]++
	if n := g.names[name]; n > 1 {
		name += fmt.Sprintf("_%d", n)
	}
	return name
}

// op adds an operator with one output and returns the name of the output.
func (g *onnxGraph) op(operator string, inputs []string, attributes ...attribute) string {
	out := g.unique(operator)
	g.add(operator, inputs, out, attributes...)
	return out
}

// add adds an operator whose output has a given name.
func (g *onnxGraph) add(operator string, inputs []string, out string, attributes ...attribute) {
	var n message
	for _, in := range inputs {
		n.text(1, in)
	}
	n.text(2, out)
	n.text(3, out)
	n.text(4, operator)
	for _, a := range attributes {
		n.bytes(5, a.encode())
	}
	g.nodes = append(g.nodes, n)
}

func (a attribute) encode() (m message) {
	const floatKind, intKind, textKind, intsKind = 1, 2, 3, 7
	m.text(1, a.name)
	switch v := a.value.(type) {
	case float32:
		m = protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(v))
		m.integer(20, floatKind)
	case int:
		m.integer(3, int64(v))
		m.integer(20, intKind)
	case string:
		m.text(4, v)
		m.integer(20, textKind)
	case []int:
		for _, i := range v {
			m.integer(8, int64(i))
		}
		m.integer(20, intsKind)
	default:
		panic(fmt.Sprintf("onnx: an attribute of type %T", a.value))
	}
	return m
}

// floats adds a constant of float32 values and returns its name. Without a shape it is a scalar.
func (g *onnxGraph) floats(what string, data []float32, shape ...int) string {
	return g.constant(what, float32Type, data, shape)
}

func (g *onnxGraph) scalar(what string, v float64) string {
	return g.floats(what, []float32{float32(v)})
}

// integers adds a constant vector of int64, and returns its name.
func (g *onnxGraph) integers(what string, values ...int) string {
	wide := make([]int64, len(values))
	for i, v := range values {
		wide[i] = int64(v)
	}
	return g.constant(what, int64Type, wide, []int{len(values)})
}

func (g *onnxGraph) constant(what string, of elementType, data any, shape []int) string {
	var raw bytes.Buffer
	_ = binary.Write(&raw, binary.LittleEndian, data) // a bytes.Buffer takes everything
	name := g.unique(what)
	var t message
	for _, n := range shape {
		t.integer(1, int64(n))
	}
	t.integer(2, int64(of))
	t.text(8, name)
	t.bytes(9, raw.Bytes())
	g.constants = append(g.constants, t)
	return name
}

func (g *onnxGraph) encode(name, input string, inputShape []int, output string, outputShape []int) (m message) {
	for _, n := range g.nodes {
		m.bytes(1, n)
	}
	m.text(2, name)
	for _, c := range g.constants {
		m.bytes(5, c)
	}
	m.bytes(11, value(input, inputShape))
	m.bytes(12, value(output, outputShape))
	return m
}

// value describes an input or output as a ValueInfoProto: float32 (N, shape...).
func value(name string, shape []int) (m message) {
	var batch, dims message
	batch.text(2, "N")
	dims.bytes(1, batch)
	for _, n := range shape {
		var d message
		d.integer(1, int64(n))
		dims.bytes(1, d)
	}
	var tensor, of message
	tensor.integer(1, int64(float32Type))
	tensor.bytes(2, dims)
	of.bytes(1, tensor)
	m.text(1, name)
	m.bytes(2, of)
	return m
}

// message is an encoded protocol buffer to which fields are appended.
type message []byte

func (m *message) integer(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }
