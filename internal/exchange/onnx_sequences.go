package exchange

import (
	"math"

	"dpsgd/model"
)

// sequenceLayer adds a layer that takes or gives sequences (N, positions, values); ok is false for
// any other one. All positions are the example's own: what has padding is refused.
func (n *onnxNetwork) sequenceLayer(l model.Layer, at place, x string) (y string, ok bool) {
	switch l := l.(type) {
	case model.PatchEmbedding:
		out := n.shapes[at.name]
		x = n.convolution(model.Conv2D{Kernel: model.Both(l.Patch), Stride: model.Both(l.Patch)}, at, x, n.parameter(at, "weight"))
		x = n.op("Reshape", []string{x, n.integers("shape", -1, out[1], out[0])})
		return n.op("Transpose", []string{x}, attribute{"perm", []int{0, 2, 1}}), true
	case model.ClassToken: // a token for each example of the batch: what stands first, times 0
		first := n.op("Mul", []string{n.slice(x, 1, 0, 1), n.scalar("zero", 0)})
		return n.op("Concat", []string{n.op("Add", []string{first, n.parameter(at, "token", 1, 1, at.input[1])}), x}, attribute{"axis", 1}), true
	case model.PositionalEmbedding:
		positions := n.floats("waves", model.Waves(at.input[0], at.input[1]), 1, at.input[0], at.input[1])
		if !l.Sinusoidal {
			positions = n.parameter(at, "weight", 1, at.input[0], at.input[1])
		}
		return n.op("Add", []string{x, positions}), true
	case model.Attention:
		return n.attention(l, at, x), true
	case model.TransformerEncoder:
		return n.transformer(l, at, x), true
	case model.MeanOverSequence:
		return n.op("ReduceMean", []string{x}, attribute{"axes", []int{1}}, attribute{"keepdims", 0}), true
	case model.FirstOfSequence:
		return n.op("Flatten", []string{n.slice(x, 1, 0, 1)}), true
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

// slice returns x from one place to another along an axis.
func (n *onnxNetwork) slice(x string, axis, from, to int) string {
	return n.op("Slice", []string{x, n.integers("from", from), n.integers("to", to), n.integers("axis", axis)})
}

// positionwise adds a dense layer on the last dimension of x.
func (n *onnxNetwork) positionwise(at place, x, weight, bias string, noBias bool) string {
	w := n.tensors[at.name+"."+weight]
	out, in := w.Shape[0], w.Shape[1]
	transposed := make([]float32, len(w.Data))
	for i, v := range w.Data {
		transposed[i%in*out+i/in] = v
	}
	x = n.op("MatMul", []string{x, n.floats(weight, transposed, in, out)})
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
