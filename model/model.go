package model

import (
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

// Input is the shape of one example: an image of the given size, channels last, or, without height
// and width, a row of Channels numbers.
type Input struct{ Height, Width, Channels int }

// row reports whether examples have no place, only values.
func (in Input) row() bool { return in.Height == 0 && in.Width == 0 }

// shape returns the shape of a batch.
func (in Input) shape(batch int) []int {
	if in.row() {
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
	classes    int
	parameters []Parameter
	layers     []LayerInfo
	sketched   bool // whether it has no values, see Sketch
}

// New checks that the layers fit the input and each other and that the last one gives one value for
// each class, and draws initial parameters from the public seed.
func New(network Sequential, input Input, classes int, seed uint64) (*Model, error) {
	return newModel(&Model{network: network, input: input, classes: classes}, graph.NewBuilder(nil), &declaring{src: random.Seeded(seed)})
}

// Sketch is New without values: a model that takes next to no memory however large the network is.
// It can be declared on a sketch of a graph ([graph.NewSketch]), and frozen, and nothing else.
func Sketch(network Sequential, input Input, classes int) (*Model, error) {
	return newModel(&Model{network: network, input: input, classes: classes, sketched: true}, graph.NewSketch(), &declaring{})
}

func newModel(m *Model, b *graph.Builder, d *declaring) (*Model, error) {
	n, err := m.declare(b, d, 1, true)
	if err != nil {
		return nil, err
	}
	if len(d.parameters) == 0 {
		return nil, fmt.Errorf("model: the network has no parameters, expected at least one layer to train")
	}
	m.parameters, m.layers = d.parameters, n.layers
	m.Values = slices.Concat(d.values...)
	return m, nil
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

// Layers describes the network, containers before what they hold.
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
		if first == 0 {
			first = l.MultiplyAdds
		}
		total += l.MultiplyAdds
	}
	return total, first
}

// Network is a model declared on a graph for physical batches of a fixed size B.
type Network struct {
	Images *gorgonia.Node // input, float32 (B, H, W, C), or (B, C) for rows
	Labels *gorgonia.Node // input, int32 (B)
	Mask   *gorgonia.Node // input, float32 (B): 1 for an example, 0 for padding

	Valid  *gorgonia.Node // (B): the mask without examples whose pixels are not finite
	Logits *gorgonia.Node // (B, classes)
	Losses *gorgonia.Node // (B): cross-entropy of each example; sensitive
	Uses   []perexample.Use

	layers []LayerInfo
}

// Training declares the network for training on a graph. Uses lists every parameter that is trained,
// in the order of Parameters.
func (m *Model) Training(b *graph.Builder, batch int) (*Network, error) {
	return m.declare(b, m, batch, true)
}

// Prediction declares the network without what only training needs.
func (m *Model) Prediction(b *graph.Builder, batch int) (*Network, error) {
	return m.declare(b, m, batch, false)
}

func (m *Model) declare(b *graph.Builder, s store, batch int, training bool) (*Network, error) {
	b.Part("forward")
	p := &Pass{Builder: b, Training: training, classes: m.classes, rows: m.input.row(), store: s, nodes: map[string]*gorgonia.Node{}, frozen: m.isFrozen}
	n := &Network{
		Images: b.Input("images", tensor.Float32, m.input.shape(batch)...),
		Labels: b.Input("labels", tensor.Int32, batch),
		Mask:   b.Input("mask", tensor.Float32, batch),
	}
	n.Valid = p.validity(n.Images, n.Mask)
	n.Logits = m.network.Forward(p, p.onlyValid(n.Images, n.Valid))
	m.checkLogits(p, n.Logits)
	n.Losses = p.crossEntropy(n.Logits, n.Labels)
	n.Uses, n.layers = p.uses, p.layers
	if b.Err() != nil {
		return nil, fmt.Errorf("model: %w", b.Err())
	}
	if err := p.checkRules(); err != nil {
		return nil, err
	}
	n.Uses = slices.DeleteFunc(n.Uses, func(u perexample.Use) bool { return m.isFrozen(u.Parameter) })
	// A layer may announce its parameters in any order; sums are laid out in the order of the
	// parameters.
	slices.SortFunc(n.Uses, func(a, b perexample.Use) int {
		return slices.Index(p.names, a.Parameter) - slices.Index(p.names, b.Parameter)
	})
	return n, nil
}

func (m *Model) checkLogits(p *Pass, logits *gorgonia.Node) {
	if p.Err() != nil {
		return
	}
	if s := logits.Shape(); len(s) != 2 || s[1] != m.classes {
		problem := fmt.Sprintf("the last layer gives shape %v per example, expected %d values, one for each class", []int(s[1:]), m.classes)
		p.Fail("%w", &LayerError{p.last(), problem})
	}
}

// checkRules refuses a network in which a parameter has no rule, one of another size, or more than
// one: shared parameters need a rule that sees all their uses, as the norm of a sum is not the sum
// of norms.
func (p *Pass) checkRules() error {
	count, size := map[string]int{}, map[string]int{}
	for _, u := range p.uses {
		count[u.Parameter]++
		size[u.Parameter] = u.Rule.Size()
	}
	var errs []error
	for _, name := range p.names {
		values := p.nodes[name].Shape().TotalSize()
		switch {
		case count[name] == 0:
			errs = append(errs, fmt.Errorf("model: parameter %s: %w; announce it with Use", name, perexample.ErrNoRule))
		case count[name] > 1:
			errs = append(errs, fmt.Errorf("model: parameter %s is used %d times, expected once: shared parameters are not supported", name, count[name]))
		case size[name] != values:
			errs = append(errs, fmt.Errorf("model: parameter %s has %d values, its per-example rule is for %d", name, values, size[name]))
		}
	}
	return errors.Join(errs...)
}
