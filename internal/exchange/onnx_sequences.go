package exchange

import (
	"math"

	"dpsgd/model"
)

// sequenceLayer adds a layer that takes or gives sequences (N, positions, values); ok is false for
// any other one.
func (n *onnxNetwork) sequenceLayer(l model.Layer, at place, x string) (y string, ok bool) {
	switch l := l.(type) {
	case model.PatchEmbedding:
		out := n.shapes[at.name]
		x = n.convolution(model.Conv2D{Kernel: model.Both(l.Patch), Stride: model.Both(l.Patch)}, at, x, n.parameter(at, "weight"))
		x = n.op("Reshape", []string{x, n.integers("shape", -1, out[1], out[0])})
		return n.op("Transpose", []string{x}, attribute{"perm", []int{0, 2, 1}}), true
	case model.Embedding: // which says where texts end
		n.mask = n.op("Cast", []string{n.op("GreaterOrEqual", []string{x, n.scalar("zero", 0)})}, attribute{"to", int(float32Type)})
		tokens := n.op("Cast", []string{n.op("Mul", []string{x, n.mask})}, attribute{"to", int(int64Type)})
		n.table = n.parameter(at, "weight")
		return n.masked(n.op("Gather", []string{n.table, tokens})), true
	case model.TiedLinear:
		return n.op("MatMul", []string{x, n.op("Transpose", []string{n.table}, attribute{"perm", []int{1, 0}})}), true
	case model.LSTM: // gates i, o, f, g of PyTorch's i, f, g, o
		return n.recurrent("LSTM", []int{0, 3, 1, 2}, l.Recurrent, at, x), true
	case model.GRU: // gates z, r, n of PyTorch's r, z, n
		return n.recurrent("GRU", []int{1, 0, 2}, l.Recurrent, at, x, attribute{"linear_before_reset", 1}), true
	case model.ClassToken: // a token for each example of the batch: what stands first, times 0
		if n.mask != "" {
			return "", false
		}
		first := n.op("Mul", []string{n.slice(x, 1, 0, 1), n.scalar("zero", 0)})
		return n.op("Concat", []string{n.op("Add", []string{first, n.parameter(at, "token", 1, 1, at.input[1])}), x}, attribute{"axis", 1}), true
	case model.PositionalEmbedding:
		if l.Sinusoidal {
			return n.op("Add", []string{x, n.floats("waves", model.Waves(at.input[0], at.input[1]), 1, at.input[0], at.input[1])}), true
		}
		return n.op("Add", []string{x, n.parameter(at, "weight", 1, at.input[0], at.input[1])}), true
	case model.Attention:
		return n.attention(l, at, x), true
	case model.TransformerEncoder:
		return n.transformer(l, at, x), true
	case model.MeanOverSequence:
		if n.mask != "" {
			sum, length := n.sum(n.masked(x), 1, 0), n.op("Max", []string{n.sum(n.mask, 1, 1), n.scalar("one", 1)})
			return n.op("Div", []string{sum, length}), true
		}
		return n.op("ReduceMean", []string{x}, attribute{"axes", []int{1}}, attribute{"keepdims", 0}), true
	case model.FirstOfSequence:
		return n.op("Flatten", []string{n.slice(n.masked(x), 1, 0, 1)}), true
	case model.LastOfSequence:
		return n.last(x, at.input[0]), true
	case model.Linear:
		if len(at.input) == 2 {
			return n.positionwise(at, x, "weight", "bias", l.NoBias), true
		}
	case model.LayerNorm:
		if len(at.input) == 2 {
			return n.op("LayerNormalization", []string{x, n.parameter(at, "weight"), n.parameter(at, "bias")},
				attribute{"axis", 2}, attribute{"epsilon", float32(l.Epsilon())}), true
		}
	}
	return "", false
}

// masked returns x with zeros in its padding.
func (n *onnxNetwork) masked(x string) string {
	if n.mask == "" {
		return x
	}
	return n.op("Mul", []string{x, n.op("Unsqueeze", []string{n.mask, n.integers("axis", 2)})})
}

// sum returns the sum of x over an axis, which is kept with length 1 or not.
func (n *onnxNetwork) sum(x string, axis, keep int) string {
	return n.op("ReduceSum", []string{x, n.integers("axis", axis)}, attribute{"keepdims", keep})
}

// recurrent adds an LSTM or a GRU. order says which gate of PyTorch's comes first, second, … in the
// operator.
func (n *onnxNetwork) recurrent(operator string, order []int, l model.Recurrent, at place, x string, attributes ...attribute) string {
	positions, width, hidden := at.input[0], at.input[1], l.Hidden
	suffixes, direction := []string{"_l0"}, "forward"
	if l.Bidirectional {
		suffixes, direction = append(suffixes, "_l0_reverse"), "bidirectional"
	}
	var in, from, biases []float32
	for _, s := range suffixes {
		in, from = append(in, n.gates(at, "weight_ih"+s, order)...), append(from, n.gates(at, "weight_hh"+s, order)...)
		biases = append(append(biases, n.gates(at, "bias_ih"+s, order)...), n.gates(at, "bias_hh"+s, order)...)
	}
	d, gates := len(suffixes), len(order)*hidden
	inputs := []string{n.op("Transpose", []string{x}, attribute{"perm", []int{1, 0, 2}}), n.floats("weight_ih", in, d, gates, width),
		n.floats("weight_hh", from, d, gates, hidden), n.floats("bias", biases, d, 2*gates)}
	if n.mask != "" { // at least one: what it reads of none is masked
		length := n.op("Max", []string{n.sum(n.mask, 1, 0), n.scalar("one", 1)})
		inputs = append(inputs, n.op("Cast", []string{length}, attribute{"to", int(int32Type)}))
	}
	y := n.op(operator, inputs, append(attributes, attribute{"hidden_size", hidden}, attribute{"direction", direction})...)
	y = n.op("Transpose", []string{y}, attribute{"perm", []int{2, 0, 1, 3}}) // (positions, directions, N, hidden) before
	y = n.masked(n.op("Reshape", []string{y, n.integers("shape", -1, positions, d*hidden)}))
	if !l.Last {
		return y
	}
	end := n.last(n.slice(y, 2, 0, hidden), positions)
	if l.Bidirectional {
		begin := n.op("Flatten", []string{n.slice(n.slice(y, 2, hidden, 2*hidden), 1, 0, 1)})
		return n.op("Concat", []string{end, begin}, attribute{"axis", 1})
	}
	return end
}

// gates returns a parameter of a recurrent layer with its gates in another order.
func (n *onnxNetwork) gates(at place, name string, order []int) (ordered []float32) {
	values := n.tensors[at.name+"."+name].Data
	size := len(values) / len(order)
	for _, gate := range order {
		ordered = append(ordered, values[gate*size:(gate+1)*size]...)
	}
	return ordered
}

// last returns the vector of each example's last position; of none, zeros.
func (n *onnxNetwork) last(x string, positions int) string {
	if n.mask == "" {
		return n.op("Flatten", []string{n.slice(x, 1, positions-1, positions)})
	}
	// A position is the last one if it is there and the next one is not.
	next := n.op("Pad", []string{n.slice(n.mask, 1, 1, positions), n.integers("pads", 0, 0, 0, 1)})
	at := n.op("Unsqueeze", []string{n.op("Sub", []string{n.mask, next}), n.integers("axis", 2)})
	return n.sum(n.op("Mul", []string{x, at}), 1, 0)
}

// slice returns x from one place to another along an axis.
func (n *onnxNetwork) slice(x string, axis, from, to int) string {
	return n.op("Slice", []string{x, n.integers("from", from), n.integers("to", to), n.integers("axis", axis)})
}

// positionwise adds a dense layer on the last dimension of x.
func (n *onnxNetwork) positionwise(at place, x, weight, bias string, noBias bool) string {
	w := n.tensors[at.name+"."+weight]
	out, in := w.Shape[0], w.Shape[1]
	x = n.op("MatMul", []string{x, n.floats(weight, transposed(w.Data, out), in, out)})
	if noBias {
		return x
	}
	return n.op("Add", []string{x, n.parameter(at, bias)})
}

func (n *onnxNetwork) attention(l model.Attention, at place, x string) string {
	positions, width := at.input[0], at.input[1]
	qkv := n.positionwise(at, x, "in_proj_weight", "in_proj_bias", l.NoBias)
	heads := func(i int, order ...int) string {
		part := n.op("Reshape", []string{n.slice(qkv, 2, i*width, (i+1)*width), n.integers("heads", -1, positions, l.Heads, width/l.Heads)})
		return n.op("Transpose", []string{part}, attribute{"perm", order})
	}
	scores := n.op("MatMul", []string{heads(0, 0, 2, 1, 3), heads(1, 0, 2, 3, 1)})
	scores = n.op("Mul", []string{scores, n.scalar("scale", 1/math.Sqrt(float64(width/l.Heads)))})
	if l.Causal {
		later := make([]float32, positions*positions)
		for i := range positions {
			for j := i + 1; j < positions; j++ {
				later[i*positions+j] = -math.MaxFloat32
			}
		}
		scores = n.op("Add", []string{scores, n.floats("causal", later, positions, positions)})
	}
	if n.mask != "" { // nobody attends to padding
		padding := n.op("Mul", []string{n.op("Sub", []string{n.mask, n.scalar("one", 1)}), n.scalar("never", 1e30)})
		scores = n.op("Add", []string{scores, n.op("Unsqueeze", []string{padding, n.integers("axes", 1, 2)})})
	}
	y := n.op("MatMul", []string{n.op("Softmax", []string{scores}, attribute{"axis", 3}), heads(2, 0, 2, 1, 3)})
	y = n.op("Reshape", []string{n.op("Transpose", []string{y}, attribute{"perm", []int{0, 2, 1, 3}}), n.integers("shape", -1, positions, width)})
	return n.positionwise(at, y, "out_proj.weight", "out_proj.bias", l.NoBias)
}

// transformer adds the parts of a block, which have names of their own.
func (n *onnxNetwork) transformer(l model.TransformerEncoder, at place, x string) string {
	part := func(l model.Layer, name, x string) string {
		n.part = at.name + "." + name
		return n.layer(l, place{n.part, at.input}, x)
	}
	half := func(norm, x string, branch func(x string) string) string {
		y := x
		if l.NormFirst {
			y = part(model.LayerNorm{Eps: l.Eps}, norm, x)
		}
		y = branch(y)
		n.part = at.name
		y = n.op("Add", []string{x, y})
		if !l.NormFirst {
			y = part(model.LayerNorm{Eps: l.Eps}, norm, y)
		}
		return y
	}
	x = half("norm1", x, func(x string) string {
		return part(model.Attention{Heads: l.Heads, Causal: l.Causal}, "self_attn", x)
	})
	return half("norm2", x, func(x string) string {
		y := part(model.Linear{}, "linear1", x)
		n.part = at.name + ".activation"
		y = n.activation(l.Activation, y)
		return part(model.Linear{}, "linear2", y)
	})
}
