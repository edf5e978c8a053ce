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
	part := func(name string, from, to int, dz *gorgonia.Node, shape []int) *gorgonia.Node {
		return p.perExample(apart, name, shape, func(d, dz, _ []float32) {
			n, all := (to-from)*width, (positions+1)*width
			for i := range len(d) / n {
				copy(d[i*n:(i+1)*n], dz[i*all+from*width:])
			}
		}, nil, dz)
	}
	z := p.perExample(apart, "prepend", []int{batch, positions + 1, width}, func(z, token, x []float32) {
		n := positions * width
		for i := range len(token) / width {
			to := z[i*(n+width) : (i+1)*(n+width)]
			copy(to, token[i*width:(i+1)*width])
			copy(to[width:], x[i*n:(i+1)*n])
		}
	}, func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
		gradients := make([]*gorgonia.Node, 2)
		if p.Tracked(inputs[0]) {
			gradients[0] = part("class-token-gradient", 0, 1, dz, []int{batch, width})
		}
		if p.Tracked(inputs[1]) {
			gradients[1] = part("prepend-gradient", 1, positions+1, dz, x.Shape())
		}
		return gradients
	}, token, x)
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
	batch, _, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	return p.perSequence("first", x, []int{batch, width}, func(_, length int, y []float32, in [][]float32) {
		clear(y)
		copy(y, in[0][:min(length, 1)*width])
	}, func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perSequence("first-gradient", x, x.Shape(), func(_, length int, dx []float32, in [][]float32) {
			clear(dx)
			copy(dx[:min(length, 1)*width], in[0])
		}, nil, dy)}
	}, x)
}

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
