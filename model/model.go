package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsgd/internal/graph"
	"dpsgd/internal/random"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Input is the shape of one example: an image of the given size, channels last; without height and
// width, a row of Channels numbers; with a Length, a sequence of at most so many tokens of a
// Vocabulary or, without one, vectors of Channels numbers.
type Input struct{ Height, Width, Channels, Length, Vocabulary int }

// row reports whether examples are rows of numbers, neither images nor sequences.
func (in Input) row() bool { return in.Height == 0 && in.Width == 0 && in.Length == 0 }

// shape returns the shape in which a batch of that many examples arrives. A sequence of tokens is a
// row of their numbers, and ends before the first finite one below 0; a sequence of vectors is a row of
// their values, and then the number of vectors.
func (in Input) shape(batch int) []int {
	switch {
	case in.Vocabulary > 0:
		return []int{batch, in.Length}
	case in.Length > 0:
		return []int{batch, in.Length*in.Channels + 1}
	case in.row():
		return []int{batch, in.Channels}
	}
	return []int{batch, in.Height, in.Width, in.Channels}
}

// Model is a network with its parameters. Graphs declared from it read Values, so a change of
// Values is seen by their next run.
type Model struct {
	// Values holds all parameters that are trained, one after the other, in memory order (see the
	// package comment).
	Values []float32

	frozen     []float32 // the other parameters, in the same way
	network    Sequential
	input      Input
	classes    int // outputs of the last layer
	learnt     Learnt
	parameters []Parameter
	layers     []LayerInfo
	sketched   bool // whether it has no values, see Sketch

	lora    LoRA // of rank 0 without adapters
	adapted []adapted
}

// plain is what a network learns where nothing else is said.
var plain = Learnt{Loss: CrossEntropy{}}

// New checks that the layers fit the input and each other and that the last one gives one value for
// each class, and draws initial parameters from the public seed.
func New(network Sequential, input Input, classes int, seed uint64) (*Model, error) {
	return (&Model{network: network, input: input, classes: classes, learnt: plain}).begin(graph.NewBuilder(nil), random.Seeded(seed))
}

// Sketch makes a model as [New] does, but without values, so that it takes next to no memory. It
// can only be adapted, frozen and declared on a sketch of a graph ([graph.NewSketch]).
func Sketch(network Sequential, input Input, classes int) (*Model, error) {
	return (&Model{network: network, input: input, classes: classes, learnt: plain, sketched: true}).begin(graph.NewSketch(), nil)
}

// begin declares the network on a graph that nothing runs on, and so finds the parameters that the
// model lacks.
func (m *Model) begin(b *graph.Builder, src *random.Public) (*Model, error) {
	p := &Pass{Builder: b, Training: true, first: true, src: src}
	if _, err := m.declare(p, 1); err != nil {
		return nil, err
	}
	if trained, _ := m.Sizes(); trained == 0 {
		return nil, fmt.Errorf("model: the network has no parameters, expected at least one layer to train")
	}
	m.Values, m.layers = slices.Clone(m.Values), p.layers // without room for more
	return m, nil
}

// add adds p behind the model's other parameters, and init draws its values from src.
func (m *Model) add(p Parameter, init initialiser, src *random.Public) {
	trained, frozen := m.Sizes()
	into := &m.Values
	if p.Offset = trained; p.frozen {
		p.Offset, into = frozen, &m.frozen
	}
	m.parameters = append(m.parameters, p)
	if !m.sketched {
		*into = append(*into, make([]float32, p.Size())...)
		init(m.values(p), src)
	}
}

// Parameters describes the tensors that are trained, in the order of Values.
func (m *Model) Parameters() []Parameter {
	var out []Parameter
	for _, p := range m.parameters {
		if !p.frozen {
			p.Shape = slices.Clone(p.Shape)
			out = append(out, p)
		}
	}
	return out
}

// Layers describes the layers of the network, containers before the layers in them.
func (m *Model) Layers() []LayerInfo {
	layers := slices.Clone(m.layers)
	for i := range layers {
		layers[i].Output = slices.Clone(layers[i].Output)
	}
	return layers
}

// MultiplyAdds counts the multiply-adds of the forward pass on one example: in total, and in the
// first layer that has any.
func (m *Model) MultiplyAdds() (total, first int) {
	for i, l := range m.layers {
		if i+1 < len(m.layers) && strings.HasPrefix(m.layers[i+1].Name, l.Name+".") {
			continue // a container: its numbers are counted with the layers in it
		}
		first = cmp.Or(first, l.MultiplyAdds)
		total += l.MultiplyAdds
	}
	return total, first
}

// Network is a model declared on a graph for physical batches of a fixed size B.
type Network struct {
	Images  *gorgonia.Node // input, float32 (B, H, W, C), or (B, n) for rows of numbers and sequences
	Targets *gorgonia.Node // input, float32 (B, targets): the index of the class, or the numbers that are learnt
	Mask    *gorgonia.Node // input, float32 (B): 1 for an example, 0 for padding

	Valid  *gorgonia.Node   // (B): the mask, 0 also for examples that are not finite or far too large
	Logits *gorgonia.Node   // (B, classes)
	Losses *gorgonia.Node   // (B): the loss of each example; sensitive
	Uses   []perexample.Use // of the parameters that are trained, in their order
}

// Training declares the network on b for training, for physical batches of batch examples.
func (m *Model) Training(b *graph.Builder, batch int) (*Network, error) {
	return m.declare(&Pass{Builder: b, Training: true}, batch)
}

// Prediction declares the network on b without what only training needs, such as dropout.
func (m *Model) Prediction(b *graph.Builder, batch int) (*Network, error) {
	return m.declare(&Pass{Builder: b}, batch)
}

// declare declares the network on the graph of a pass, for physical batches of batch examples.
func (m *Model) declare(p *Pass, batch int) (*Network, error) {
	p.model, p.parameters = m, map[string]*gorgonia.Node{}
	p.Part("forward")
	n := &Network{
		Images:  p.Input("images", tensor.Float32, m.input.shape(batch)...),
		Targets: p.Input("targets", tensor.Float32, batch, m.targets()),
		Mask:    p.Input("mask", tensor.Float32, batch),
	}
	if p.Err() == nil {
		var x *gorgonia.Node
		n.Valid, x = p.examples(n.Images, n.Mask)
		n.Logits = m.network.Forward(p, x)
	}
	if p.Err() == nil {
		n.Losses = p.loss(n.Logits, n.Targets)
	}
	if p.Err() != nil {
		return nil, fmt.Errorf("model: %w", p.Err())
	}
	var err error
	n.Uses, err = p.trained()
	return n, err
}

// trained returns the uses of every parameter that is trained, in their order. It refuses a network
// in which a parameter has no rule or one of another size, or is used twice for one output.
func (p *Pass) trained() (uses []perexample.Use, err error) {
	var errs []error
	for _, q := range p.model.parameters {
		found := slices.DeleteFunc(slices.Clone(p.uses), func(u perexample.Use) bool { return u.Parameter != q.Name })
		switch {
		case len(found) == 0 && q.frozen: // a constant
		case len(found) == 0:
			errs = append(errs, fmt.Errorf("model: parameter %s: %w; announce it with Use", q.Name, perexample.ErrNoRule))
		case len(found) > 1 && !shareable(found):
			errs = append(errs, fmt.Errorf("model: parameter %s is used %d times, expected once, or as a weight for an output each time", q.Name, len(found)))
		case slices.ContainsFunc(found, func(u perexample.Use) bool { return u.Rule.Size() != q.Size() }):
			errs = append(errs, fmt.Errorf("model: parameter %s has %d values, its per-example rule is for %d", q.Name, q.Size(), found[0].Rule.Size()))
		case !q.frozen:
			found[0].Also = found[1:]
			uses = append(uses, found[0])
		}
	}
	return uses, errors.Join(errs...)
}

// shareable reports whether uses of one parameter are weights of different outputs.
func shareable(uses []perexample.Use) bool {
	outputs := map[*gorgonia.Node]bool{}
	for _, u := range uses {
		if _, bias := u.Rule.(perexample.Bias); bias || outputs[u.Output] {
			return false
		}
		outputs[u.Output] = true
	}
	return true
}
