package model

import (
	"dpsgd/internal/graph"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setting"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Recurrent holds what [LSTM] and [GRU] have in common: Hidden values of output for each position,
// twice as many with Bidirectional, which adds a second pass from the last position to the first.
// With Last the output is a vector, where each pass ends; without positions, zeros.
type Recurrent struct {
	Hidden              int
	Bidirectional, Last bool
}

func (l *Recurrent) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "hidden_size", Also: []string{"hidden"}, Doc: "Values of the output in one direction.",
			Format: setting.Integer{Min: 1, Max: 65536}, Value: &l.Hidden, Required: true},
		{Name: "bidirectional", Doc: "Whether a second pass goes from the end to the beginning; default false.", Format: setting.Boolean{}, Value: &l.Bidirectional},
		{Name: "last", Doc: "Whether the output is where the passes end, one vector, instead of a sequence; default false.", Format: setting.Boolean{}, Value: &l.Last},
	}
}

// LSTM is a long short-term memory. PyTorch: nn.LSTM of one layer with batch_first; the names of
// its parameters and the order of its gates.
type LSTM struct{ Recurrent }

var lstm = kind("Long short-term memory.", func() Layer { return &LSTM{} })

func (LSTM) Kind() string { return "lstm" }

func (l LSTM) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return l.forward(p, x, kernel.LSTMCell{})
}

// GRU is a gated recurrent unit. PyTorch: nn.GRU of one layer with batch_first; the names of its
// parameters and the order of its gates.
type GRU struct{ Recurrent }

var gru = kind("Gated recurrent unit.", func() Layer { return &GRU{} })

func (GRU) Kind() string { return "gru" }

func (l GRU) Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	return l.forward(p, x, kernel.GRUCell{})
}

// forward declares the passes, and joins their outputs.
func (l Recurrent) forward(p *Pass, x *gorgonia.Node, cell kernel.Cell) *gorgonia.Node {
	if _, _, _, ok := p.sequence(x); !ok {
		return nil
	}
	if l.Hidden < 1 {
		return p.reject("its output has %d values, expected at least 1", l.Hidden)
	}
	direction := func(suffix string, reverse bool, end func(length int) (from, to int)) *gorgonia.Node {
		h := p.recurrence(x, l.Hidden, suffix, cell, reverse)
		if l.Last && p.Err() == nil {
			return p.meanOf(h, "end", end)
		}
		return h
	}
	h := direction("_l0", false, last)
	if !l.Bidirectional || p.Err() != nil {
		return h
	}
	shape := h.Shape().Clone()
	shape[len(shape)-1] *= 2
	return p.join(h, direction("_l0_reverse", true, first), l.Hidden, l.Hidden, shape)
}

// recurrence declares one pass over a sequence, with parameters whose names end with suffix.
func (p *Pass) recurrence(x *gorgonia.Node, hidden int, suffix string, cell kernel.Cell, reverse bool) *gorgonia.Node {
	batch, positions := x.Shape()[0], x.Shape()[1]
	gates, init := cell.Gates()*hidden, uniform(hidden)
	gx := p.dense(x, dense{out: gates, weight: "weight_ih" + suffix, bias: "bias_ih" + suffix, weights: init, biases: init})
	w := p.Parameter("weight_hh"+suffix, init, []int{gates, hidden}, nil)
	bias := p.Parameter("bias_hh"+suffix, init, []int{gates}, nil)
	if p.Err() != nil {
		return nil
	}
	p.layers[len(p.layers)-1].MultiplyAdds += positions * hidden * gates
	// The gradient of what the outputs before add to the gates is that of what the inputs add; where
	// a gate weighs it, the node gh stands for it.
	gh, inputs := gx, []*gorgonia.Node{gx, w, bias}
	_, gru := cell.(kernel.GRUCell)
	if gru {
		gh = p.perExample(apart, "hidden-part", gx.Shape(), func(z, _, _ []float32) { clear(z) }, nil, gx)
		inputs = append(inputs, gh)
	}
	if !p.model.isFrozen(w.Name()) || !p.model.isFrozen(bias.Name()) {
		p.Track(gh)
	}
	r := kernel.NewRecurrent(kernel.Recurrent{Positions: positions, Hidden: hidden, Cell: cell, Reverse: reverse}, p.Pool())
	var states []float32 // written by the forward operation, read by its gradient
	width := r.StateWidth()
	size := batch * positions * width
	p.Keeps(4 * (size + 2*hidden*gates))
	lengths := p.lengthsOf(x)
	length := func(in []graph.Array) func(i int) int {
		if lengths == nil {
			return func(int) int { return positions }
		}
		of := in[len(in)-1].Float32
		return func(i int) int { return int(of[i]) }
	}
	with := func(inputs ...*gorgonia.Node) []*gorgonia.Node {
		if lengths != nil {
			inputs = append(inputs, lengths)
		}
		return inputs
	}
	grain := min(recurrentGrain, (batch+p.Pool().Threads()-1)/p.Pool().Threads())
	h := p.Apply(graph.Operation{
		Name: "recurrence", Type: tensor.Float32, Shape: []int{batch, positions, hidden}, Grain: grain,
		Prepare: func(in []graph.Array) {
			if states == nil {
				states = make([]float32, size)
			}
			r.Prepare(in[1].Float32)
		},
		Rows: func(worker, lo, hi int, h graph.Array, in []graph.Array) {
			r.Forward(worker, lo, hi, h.Float32, states, in[0].Float32, in[2].Float32, length(in))
		},
		Gradient: func(inputs []*gorgonia.Node, h, dh *gorgonia.Node) []*gorgonia.Node {
			dgx := p.Apply(graph.Operation{
				Name: "recurrence-gradient", Type: tensor.Float32, Shape: gx.Shape(), Grain: grain,
				Prepare: func(in []graph.Array) { r.PrepareBack(in[2].Float32) },
				Rows: func(worker, lo, hi int, dgx graph.Array, in []graph.Array) {
					r.Gradient(worker, lo, hi, dgx.Float32, in[0].Float32, in[1].Float32, states, length(in))
				},
			}, with(dh, h, inputs[1])...)
			gradients := make([]*gorgonia.Node, len(inputs))
			gradients[0] = dgx
			if gru {
				gradients[3] = p.Apply(graph.Operation{
					Name: "hidden-gradient", Type: tensor.Float32, Shape: gx.Shape(),
					Rows: func(_, lo, hi int, dgh graph.Array, in []graph.Array) {
						for i := lo * positions; i < hi*positions; i++ {
							at := i * gates
							kernel.GRUCell{}.HiddenGradient(dgh.Float32[at:at+gates], in[0].Float32[at:at+gates], states[i*width:(i+1)*width])
						}
					},
				}, dgx)
			}
			return gradients
		},
	}, with(inputs...)...)
	p.setLengths(h, lengths)
	before := p.before(h, reverse)
	p.Use(w, perexample.DenseWeight{In: hidden, Out: gates}.At(positions), before, gh)
	p.Use(bias, perexample.Bias{Positions: positions, Channels: gates}, before, gh)
	return h
}

// recurrentGrain is how many examples take their steps together at least, where there are as many:
// each step reads all weights.
const recurrentGrain = 32

// before returns the outputs h of a pass at the position before, zeros at its first.
func (p *Pass) before(h *gorgonia.Node, reverse bool) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	positions, width := h.Shape()[1], h.Shape()[2]
	return p.perExample(apart, "before", h.Shape(), func(z, h, _ []float32) {
		for n := positions * width; len(h) > 0; h, z = h[n:], z[n:] {
			if reverse {
				copy(z[:n-width], h[width:n])
				clear(z[n-width : n])
			} else {
				copy(z[width:n], h[:n-width])
				clear(z[:width])
			}
		}
	}, nil, h)
}
