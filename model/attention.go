package model

import (
	"math"

	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"

	"gorgonia.org/gorgonia"
)

// Attention is multi-head self-attention over the positions of a sequence, without padding. With
// Causal, a position sees itself and earlier ones alone. PyTorch: nn.MultiheadAttention with
// batch_first, and its names: in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias.
type Attention struct {
	Heads  int
	Causal bool
	NoBias bool
}

var attention = kind("Multi-head self-attention over the positions of a sequence.", func() Layer { return &Attention{} }, "multihead_attention")

func (l *Attention) Arguments() []setting.Argument {
	return append(heads(&l.Heads, &l.Causal), bias(&l.NoBias))
}

func heads(heads *int, causal *bool) []setting.Argument {
	return []setting.Argument{
		{Name: "heads", Also: []string{"num_heads"}, Doc: "Number of heads; it divides the values of a position.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: heads, Required: true},
		{Name: "causal", Doc: "Whether a position sees no later ones; default false.", Format: setting.Boolean{}, Value: causal},
	}
}

func (Attention) Kind() string { return "attention" }

func (l Attention) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, positions, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	if l.Heads < 1 || width%l.Heads != 0 {
		return p.reject("%d heads do not divide the %d values of a position", l.Heads, width)
	}
	// Xavier's bound for a matrix (3·width, width).
	qkv := p.dense(x, dense{out: 3 * width, noBias: l.NoBias, weight: "in_proj_weight", bias: "in_proj_bias",
		weights: within(math.Sqrt(6 / float64(4*width))), biases: constant(0)})
	a := kernel.NewAttention(kernel.Attention{Width: width, Heads: l.Heads, Causal: l.Causal}, p.Pool())
	y := p.perSequence("attention", x, x.Shape(), func(worker, length int, y []float32, in [][]float32) {
		a.Forward(worker, y, in[0], length)
	}, func(inputs []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perSequence("attention-gradient", x, qkv.Shape(), func(worker, length int, dqkv []float32, in [][]float32) {
			a.Gradient(worker, dqkv, in[0], in[1], length)
		}, nil, inputs[0], dy)}
	}, qkv)
	if p.Err() != nil {
		return nil
	}
	at := &p.layers[len(p.layers)-1]
	at.MultiplyAdds, at.Causal = at.MultiplyAdds+2*positions*positions*width, l.Causal
	return p.dense(y, dense{out: width, noBias: l.NoBias, weight: "out_proj.weight", bias: "out_proj.bias", weights: uniform(width), biases: constant(0)})
}

// TransformerEncoder is the usual block of a transformer: attention and two linear layers with an
// activation between them, each with a way around it and a normalisation, at its end or, with
// NormFirst, before it. PyTorch: nn.TransformerEncoderLayer with batch_first and without dropout,
// and its names.
type TransformerEncoder struct {
	Heads, FeedForward int
	Causal, NormFirst  bool
	Activation         string // "relu", "gelu" or "gelu_tanh"
	Eps                float64
}

var transformerEncoder = kind("A block of a transformer: attention, then two linear layers, each with a residual connection and a norm.",
	func() Layer { return &TransformerEncoder{Activation: "relu", Eps: normEpsilon} }, "transformer_encoder_layer")

func (l *TransformerEncoder) Arguments() []setting.Argument {
	return append(heads(&l.Heads, &l.Causal),
		setting.Argument{Name: "feedforward", Also: []string{"dim_feedforward"}, Doc: "Values between the two linear layers.",
			Format: setting.Integer{Min: 1, Max: 1 << 20}, Value: &l.FeedForward, Required: true},
		setting.Argument{Name: "norm_first", Doc: "Whether each half normalises its input instead of its result; default false.", Format: setting.Boolean{}, Value: &l.NormFirst},
		setting.Argument{Name: "activation", Doc: "The activation between the two linear layers: relu, the default, gelu or gelu_tanh.",
			Format: setting.Choice{"relu", "gelu", "gelu_tanh"}, Value: &l.Activation},
		eps(&l.Eps))
}

func (TransformerEncoder) Kind() string { return "transformer_encoder" }

func (l TransformerEncoder) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, _, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	half := func(x *gorgonia.Node, norm string, branch func(x *gorgonia.Node) *gorgonia.Node) *gorgonia.Node {
		if l.NormFirst {
			return p.sum(branch(p.Layer(norm, LayerNorm{l.Eps}, x)), x)
		}
		return p.Layer(norm, LayerNorm{l.Eps}, p.sum(branch(x), x))
	}
	activation := map[string]Activation{"gelu": GELU, "gelu_tanh": GELUTanh}[l.Activation]
	if activation.kind == "" {
		activation = ReLU
	}
	x = half(x, "norm1", func(x *gorgonia.Node) *gorgonia.Node {
		return p.Layer("self_attn", Attention{Heads: l.Heads, Causal: l.Causal}, x)
	})
	return half(x, "norm2", func(x *gorgonia.Node) *gorgonia.Node {
		x = p.Layer("activation", activation, p.Layer("linear1", Linear{Out: l.FeedForward}, x))
		return p.Layer("linear2", Linear{Out: width}, x)
	})
}
