package model

import (
	"math"

	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// Embedding looks up the vector of each token in a table (vocabulary, Width): tokens (B, T) become a
// sequence (B, T, Width), with zeros in the padding. PyTorch: nn.Embedding.
type Embedding struct{ Width int }

var embedding = kind("The learned vector of each token.", func() Layer { return &Embedding{} })

func (l *Embedding) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "dim", Also: []string{"embedding_dim"}, Doc: "Values of the vector of a token.",
		Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Width, Required: true}}
}

func (Embedding) Kind() string { return "embedding" }

func (l Embedding) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	if x != p.tokens {
		return p.reject("its input has shape %v per example, expected tokens: it is the first layer of a network for text", []int(x.Shape()[1:]))
	}
	if l.Width < 1 {
		return p.reject("its vectors have %d values, expected at least 1", l.Width)
	}
	batch, positions, vocabulary, width := x.Shape()[0], x.Shape()[1], p.model.input.Vocabulary, l.Width
	w := p.Parameter("weight", gaussian(1), []int{vocabulary, width}, nil)
	table := p.Values(w).Float32
	z := p.perExample(apart, "embedding", []int{batch, positions, width}, func(z, x, _ []float32) {
		for t, token := range x {
			row := z[t*width : (t+1)*width]
			if token < 0 {
				clear(row)
				continue
			}
			copy(row, table[int(token)*width:])
		}
	}, nil, x)
	p.Use(w, perexample.EmbeddingWeight{Positions: positions, Vocabulary: vocabulary, Width: width}, x, z)
	return z
}

// PositionalEmbedding adds a vector to each position of a sequence, which says where it is: learned
// ones, (positions, values), or sines and cosines of geometric frequencies (Vaswani et al.,
// arXiv:1706.03762, section 3.5).
type PositionalEmbedding struct{ Sinusoidal bool }

var positionalEmbedding = kind("Adds to each position a vector that says where it is.", func() Layer { return &PositionalEmbedding{} })

func (l *PositionalEmbedding) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "sinusoidal", Doc: "Whether the vectors are sines and cosines instead of learned ones; default false.",
		Format: setting.Boolean{}, Value: &l.Sinusoidal}}
}

func (PositionalEmbedding) Kind() string { return "positional_embedding" }

func (l PositionalEmbedding) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	_, positions, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	vectors := Waves(positions, width)
	var w *gorgonia.Node
	if !l.Sinusoidal {
		w = p.Parameter("weight", gaussian(0.02), []int{positions, width}, nil)
		vectors = p.Values(w).Float32
	}
	z := p.perExample(inPlace, "positions", x.Shape(), func(z, x, _ []float32) {
		for n := positions * width; len(x) > 0; x, z = x[n:], z[n:] {
			kernel.Add(z[:n], x[:n], vectors)
		}
	}, func(_ []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node { return []*gorgonia.Node{dz} }, x)
	if !l.Sinusoidal {
		p.Use(w, perexample.Bias{Positions: 1, Channels: positions * width}, x, z)
	}
	return z
}

// Waves returns the vectors of a sinusoidal [PositionalEmbedding]: sin(t/10000^(2i/width)) and
// the cosine of the same, one after the other, for positions t and i from 0.
func Waves(positions, width int) []float32 {
	vectors := make([]float32, positions*width)
	for t := range positions {
		for j := range width {
			angle := float64(t) / math.Pow(10000, float64(j/2*2)/float64(width))
			if j%2 == 0 {
				vectors[t*width+j] = float32(math.Sin(angle))
			} else {
				vectors[t*width+j] = float32(math.Cos(angle))
			}
		}
	}
	return vectors
}

// MeanOverSequence is the mean of the vectors of a sequence, without padding; of none, zeros.
type MeanOverSequence struct{}

var meanOverSequence = kind("Mean over the positions of a sequence, without padding.", func() Layer { return MeanOverSequence{} })

func (MeanOverSequence) Kind() string { return "mean_over_sequence" }

func (MeanOverSequence) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return p.meanOf(x, "mean", func(length int) (from, to int) { return 0, length })
}
