package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sequences are nodes (B, T, C): T vectors of C values each, of which the first ones are the
// example and the others padding. Layers may leave anything finite in the padding. No layer reads
// it for another position, and gradients there are exactly 0.

// examples declares what the network sees of its input: which examples are valid (B), and the node
// that the first layer takes, in which the others are zeros.
func (p *Pass) examples(input, mask *gorgonia.Node) (valid, x *gorgonia.Node) {
	in := p.model.input
	if in.Length == 0 {
		valid = p.validity(input, mask)
		return valid, p.onlyValid(input, valid)
	}
	batch := mask.Shape()[0]
	measure := func(name string, write func(mask float32, length int) float32) *gorgonia.Node {
		return p.perExample(apart, name, []int{batch}, func(out, input, mask []float32) {
			size := len(input) / len(mask)
			for i, m := range mask {
				length := -1
				if m != 0 {
					length = in.length(input[i*size : (i+1)*size])
				}
				out[i] = write(m, length)
			}
		}, nil, input, mask)
	}
	valid = measure("validity", func(mask float32, length int) float32 {
		if length < 0 {
			return 0
		}
		return mask
	})
	lengths := measure("lengths", func(_ float32, length int) float32 { return float32(max(length, 0)) })
	shape, padding := []int{batch, in.Length, in.Channels}, float32(0)
	if in.Vocabulary > 0 {
		shape, padding = shape[:2], -1
	}
	x = p.perExample(apart, "only-sequences", shape, func(out, input, lengths []float32) {
		from, to := len(input)/len(lengths), len(out)/len(lengths)
		for i, length := range lengths {
			n := int(length) * to / in.Length
			copy(out[i*to:], input[i*from:i*from+n])
			fill(out[i*to+n:(i+1)*to], padding)
		}
	}, nil, input, lengths)
	if in.Vocabulary > 0 {
		p.tokens = x
	}
	p.setLengths(x, lengths)
	return valid, x
}

// length returns how many positions of an example's row are its own, -1 if the row is no sequence:
// if its length is none, a token is not in the vocabulary, or a vector is not finite or far too
// long. It reads nothing of the padding.
func (in Input) length(row []float32) int {
	if in.Vocabulary == 0 {
		length := row[len(row)-1]
		n := int(min(max(length, 0), float32(in.Length)))
		if float32(n) != length || !(kernel.SumSquares(row[:n*in.Channels]) <= maxSquaredNorm) {
			return -1
		}
		return n
	}
	for t, token := range row {
		switch {
		case token < 0 && token-token == 0:
			return t
		case !(token < float32(in.Vocabulary)) || token != float32(int32(token)):
			return -1
		}
	}
	return len(row)
}

// lengthsOf returns the node (B) of how many positions of the sequence x belong to each example;
// nil if all do.
func (p *Pass) lengthsOf(x *gorgonia.Node) *gorgonia.Node { return p.lengths[x] }

func (p *Pass) setLengths(x, lengths *gorgonia.Node) {
	if p.lengths == nil {
		p.lengths = map[*gorgonia.Node]*gorgonia.Node{}
	}
	p.lengths[x] = lengths
}

// sequence returns the sizes of a node of sequences (B, T, C), and refuses any other node.
func (p *Pass) sequence(x *gorgonia.Node) (batch, positions, width int, ok bool) {
	s := x.Shape()
	if len(s) != 3 {
		p.reject("its input has shape %v per example, expected a sequence (positions, values); put embedding, or patch_embedding for pictures, in front", []int(s[1:]))
		return 0, 0, 0, false
	}
	return s[0], s[1], s[2], true
}

// perSequence adds an operation that computes every example's output from the same example's rows
// of the inputs and the number of its own positions. The first input is the sequence that it is
// about. run is called on a worker of the pool.
func (p *Pass) perSequence(name string, sequence *gorgonia.Node, shape []int, run func(worker, length int, out []float32, in [][]float32), gradient gradientOf, inputs ...*gorgonia.Node) *gorgonia.Node {
	lengths, batch, positions := p.lengthsOf(sequence), shape[0], sequence.Shape()[1]
	rows := len(inputs) // the inputs behind these are parameters and lengths
	if lengths != nil {
		inputs = append(inputs, lengths)
		if own := gradient; own != nil {
			gradient = func(inputs []*gorgonia.Node, y, dy *gorgonia.Node) []*gorgonia.Node {
				return append(own(inputs[:rows], y, dy), nil)
			}
		}
	}
	parts := make([][][]float32, p.Pool().Threads())
	for i := range parts {
		parts[i] = make([][]float32, rows)
	}
	return p.Apply(graph.Operation{
		Name: name, Type: tensor.Float32, Shape: shape, Gradient: gradient,
		Rows: func(worker, lo, hi int, out graph.Array, in []graph.Array) {
			own := parts[worker]
			for i := lo; i < hi; i++ {
				for j := range own {
					own[j] = exampleOf(in[j].Float32, i, batch)
				}
				length := positions
				if lengths != nil {
					length = int(in[rows].Float32[i])
				}
				run(worker, length, exampleOf(out.Float32, i, batch), own)
			}
		},
	}, inputs...)
}

// meanOf returns the mean of the vectors of each sequence between two positions, which follow from
// its length; zeros where there are none.
func (p *Pass) meanOf(x *gorgonia.Node, name string, between func(length int) (from, to int)) *gorgonia.Node {
	batch, _, width, ok := p.sequence(x)
	if !ok {
		return nil
	}
	return p.perSequence(name, x, []int{batch, width}, func(_, length int, y []float32, in [][]float32) {
		clear(y)
		from, to := between(length)
		for t := from; t < to; t++ {
			kernel.Axpy(y, 1/float32(to-from), in[0][t*width:(t+1)*width])
		}
	}, func(_ []*gorgonia.Node, _, dy *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{p.perSequence(name+"-gradient", x, x.Shape(), func(_, length int, dx []float32, in [][]float32) {
			clear(dx)
			from, to := between(length)
			for t := from; t < to; t++ {
				kernel.Axpy(dx[t*width:(t+1)*width], 1/float32(to-from), in[0])
			}
		}, nil, dy)}
	}, x)
}

// join returns a node of the given shape, in which ofX values of x and ofY of y take turns.
func (p *Pass) join(x, y *gorgonia.Node, ofX, ofY int, shape []int) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	part := func(of *gorgonia.Node, from, n int, dz *gorgonia.Node) *gorgonia.Node {
		if !p.Tracked(of) {
			return nil
		}
		return p.perExample(apart, "join-gradient", of.Shape(), func(d, dz, _ []float32) {
			for ; len(d) > 0; d, dz = d[n:], dz[ofX+ofY:] {
				copy(d[:n], dz[from:])
			}
		}, nil, dz)
	}
	return p.perExample(apart, "join", shape, func(z, x, y []float32) {
		for ; len(z) > 0; x, y, z = x[ofX:], y[ofY:], z[ofX+ofY:] {
			copy(z, x[:ofX])
			copy(z[ofX:], y[:ofY])
		}
	}, func(inputs []*gorgonia.Node, _, dz *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{part(inputs[0], 0, ofX, dz), part(inputs[1], ofX, ofY, dz)}
	}, x, y)
}

// exampleOf returns the values of example i in an array of so many examples.
func exampleOf(x []float32, i, batch int) []float32 {
	n := len(x) / batch
	return x[i*n : (i+1)*n]
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}
