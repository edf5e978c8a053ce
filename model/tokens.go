package model

import (
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// ClassToken puts a learned vector in front of a sequence. What a network makes of it can stand for
// the whole sequence ([FirstOfSequence]).
type ClassToken struct{}

var classToken = kind("Puts a learned vector in front of a sequence, to stand for the whole.", func() Layer { return ClassToken{} }, "cls_token")

func (ClassToken) Kind() string { return "class_token" }

func (ClassToken) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, positions, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	w := p.Parameter("token", gaussian(0.02), []int{width}, nil)
	values := p.Values(w).Float32
	// A node of its own, so that its gradient is that of a bias.
	token := p.perExample(apart, "class-token", []int{batch, width}, func(z, _, _ []float32) {
		clear(z)
		kernel.AddBias(z, values)
	}, nil, x)
	p.Use(w, perexample.Bias{Positions: 1, Channels: width}, token, token)
	z := p.join(token, x, width, positions*width, []int{batch, positions + 1, width})
	if lengths := p.lengthsOf(x); lengths != nil {
		p.setLengths(z, p.perExample(apart, "lengths-with-token", []int{batch}, func(out, lengths, _ []float32) {
			for i, n := range lengths {
				out[i] = n + 1
			}
		}, nil, lengths))
	}
	return z
}

// FirstOfSequence is the vector at the first position of a sequence; zeros where it has none.
type FirstOfSequence struct{}

var firstOfSequence = kind("The first position of a sequence, such as its class token.", func() Layer { return FirstOfSequence{} })

func (FirstOfSequence) Kind() string { return "first_of_sequence" }

func (FirstOfSequence) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return p.meanOf(x, "first", first)
}

// LastOfSequence is the vector at the last position of a sequence; zeros where it has none.
type LastOfSequence struct{}

var lastOfSequence = kind("The last position of a sequence, which sees all others where attention is causal.", func() Layer { return LastOfSequence{} })

func (LastOfSequence) Kind() string { return "last_of_sequence" }

func (LastOfSequence) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return p.meanOf(x, "last", last)
}

// first and last return where one position of a sequence begins and ends; none of an empty one.
func first(length int) (from, to int) { return 0, min(length, 1) }
func last(length int) (from, to int)  { return max(length-1, 0), length }

// PatchEmbedding cuts a picture into squares of Patch by Patch pixels and maps each to a vector of
// Out values: a convolution whose windows do not overlap, and whose positions become a sequence,
// row by row. PyTorch: nn.Conv2d, then flatten(2).transpose(1, 2).
type PatchEmbedding struct{ Patch, Out int }

var patchEmbedding = kind("A vector for each square of a picture.", func() Layer { return &PatchEmbedding{} })

func (l *PatchEmbedding) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "patch_size", Doc: "Height and width of a square in pixels; it divides those of the picture.",
			Format: setting.Integer{Min: 1, Max: 1024}, Value: &l.Patch, Required: true},
		{Name: "dim", Also: []string{"embed_dim"}, Doc: "Values of the vector of a square.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Out, Required: true},
	}
}

func (PatchEmbedding) Kind() string { return "patch_embedding" }

func (l PatchEmbedding) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	batch, height, width, _, ok := p.image(x)
	if !ok {
		return nil
	}
	if l.Patch < 1 || height%l.Patch != 0 || width%l.Patch != 0 {
		return p.reject("its squares of %d pixels do not divide an input of %d×%d", l.Patch, height, width)
	}
	z := Conv2D{Out: l.Out, Kernel: Both(l.Patch), Stride: Both(l.Patch)}.Forward(p, x)
	return p.Reshape(z, batch, height/l.Patch*(width/l.Patch), l.Out)
}
