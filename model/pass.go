package model

import (
	"fmt"
	"strings"

	"dpsgd/internal/graph"
	"dpsgd/internal/random"
	"dpsgd/perexample"

	"gorgonia.org/gorgonia"
)

// Layer is one building block of a network.
type Layer interface {
	// Kind is the layer's name in YAML and in descriptions.
	Kind() string
	// Forward declares the layer on x, whose first dimension is the batch, and returns its output.
	// What does not fit fails the pass.
	Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node
}

// Pass is one declaration of a network on a graph. Layers use it to add operations, to ask for
// their parameters and to announce how these are used.
type Pass struct {
	*graph.Builder
	// Training is false in a pass that only predicts: dropout does nothing there.
	Training bool

	classes int
	rows    bool // examples are rows of numbers
	store   store
	path    []string
	names   []string // of the parameters, in the order of declaration
	nodes   map[string]*gorgonia.Node
	uses    []perexample.Use
	layers  []LayerInfo
	frozen  func(parameter string) bool
}

// store gives a pass the values of parameters.
type store interface {
	parameter(p *Pass, name string, shape, order []int, init initialiser) (values []float32, ok bool)
}

// LayerInfo describes one layer of a declared network.
type LayerInfo struct {
	Name         string // place in the network, such as "3" or "4.body.0"
	Kind         string
	Output       []int // shape of one example's output
	Parameters   int
	MultiplyAdds int // of the forward pass, per example
}

// Parameter returns the node of a trainable tensor of the current layer. Shape is PyTorch's; order,
// which may be nil, is the memory order: axis i in memory is axis order[i] of shape.
func (p *Pass) Parameter(name string, init initialiser, shape, order []int) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	full := strings.Join(append(append([]string{}, p.path...), name), ".")
	values, ok := p.store.parameter(p, full, shape, order, init)
	if !ok {
		return nil
	}
	memory := shape
	if order != nil {
		memory = make([]int, len(shape))
		for i, axis := range order {
			memory[i] = shape[axis]
		}
	}
	n := p.Builder.Parameter(full, values, memory...)
	if n != nil {
		p.names = append(p.names, full)
		p.nodes[full] = n
	}
	return n
}

// Use announces that z is computed from x and the parameter, with the rule of its per-example
// gradient.
func (p *Pass) Use(parameter *gorgonia.Node, rule perexample.Rule, x, z *gorgonia.Node) {
	if p.Err() != nil {
		return
	}
	if !p.frozen(parameter.Name()) {
		p.Track(z)
	}
	p.uses = append(p.uses, perexample.Use{Parameter: parameter.Name(), Rule: rule, Input: x, Output: z})
}

// Count notes the forward multiply-adds of the current layer, per example.
func (p *Pass) Count(multiplyAdds int) {
	if len(p.layers) > 0 {
		p.layers[len(p.layers)-1].MultiplyAdds += multiplyAdds
	}
}

// Layer declares a layer under a name inside the current one.
func (p *Pass) Layer(name string, l Layer, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	at := len(p.layers)
	p.layers = append(p.layers, LayerInfo{Name: strings.Join(p.path, "."), Kind: l.Kind()})
	before := p.parameterCount()
	z := l.Forward(p, x)
	if p.Err() != nil || z == nil {
		p.reject("(%s): no output", l.Kind())
		return nil
	}
	p.layers[at].Output = z.Shape()[1:]
	p.layers[at].Parameters = p.parameterCount() - before
	return z
}

func (p *Pass) parameterCount() int {
	n := 0
	for _, node := range p.nodes {
		n += node.Shape().TotalSize()
	}
	return n
}

// last is the number of the last layer that is in no block; 0 in a network without layers.
func (p *Pass) last() string {
	for i := len(p.layers) - 1; i >= 0; i-- {
		if name := p.layers[i].Name; !strings.Contains(name, ".") {
			return name
		}
	}
	return "0"
}

// LayerError says what is wrong with one layer of a network, such as the shape of its input.
type LayerError struct {
	Layer   string // its number from 0; within a block, the block's number, a point and its own
	Problem string
}

func (e *LayerError) Error() string { return "layer " + e.Layer + ": " + e.Problem }

// reject fails the pass with the place of the current layer.
func (p *Pass) reject(format string, args ...any) *gorgonia.Node {
	p.Fail("%w", &LayerError{strings.Join(p.path, "."), fmt.Sprintf(format, args...)})
	return nil
}

// image returns the sizes of a node of images (B, H, W, C).
func (p *Pass) image(x *gorgonia.Node) (batch, height, width, channels int, ok bool) {
	if p.Err() != nil || x == nil {
		return 0, 0, 0, 0, false
	}
	s := x.Shape()
	if p.rows {
		p.reject("its input has shape %v per example, expected an image (height, width, channels); the examples are rows of numbers, not pictures", []int(s[1:]))
		return 0, 0, 0, 0, false
	}
	if len(s) != 4 {
		p.reject("its input has shape %v per example, expected an image (height, width, channels); is it behind flatten?", []int(s[1:]))
		return 0, 0, 0, 0, false
	}
	return s[0], s[1], s[2], s[3], true
}

// features returns the sizes of a node of vectors (B, n).
func (p *Pass) features(x *gorgonia.Node) (batch, n int, ok bool) {
	if p.Err() != nil || x == nil {
		return 0, 0, false
	}
	s := x.Shape()
	if len(s) != 2 {
		p.reject("its input has shape %v per example, expected a vector; put flatten or global_avg_pool2d in front", []int(s[1:]))
		return 0, 0, false
	}
	return s[0], s[1], true
}

// declaring collects parameters while a network is declared for the first time.
type declaring struct {
	parameters []Parameter
	src        *random.Public // nil draws no values
	values     [][]float32
}

func (d *declaring) parameter(_ *Pass, name string, shape, order []int, init initialiser) ([]float32, bool) {
	p := Parameter{Name: name, Shape: shape, order: order}
	if n := len(d.parameters); n > 0 {
		p.Offset = d.parameters[n-1].Offset + d.parameters[n-1].Size()
	}
	var values []float32
	if d.src != nil {
		values = make([]float32, p.Size())
		init(values, d.src)
	}
	d.parameters, d.values = append(d.parameters, p), append(d.values, values)
	return values, true
}

// parameter makes a Model the store of later passes: nodes are views into its vector.
func (m *Model) parameter(p *Pass, name string, _, _ []int, _ initialiser) ([]float32, bool) {
	for _, q := range m.parameters {
		if q.Name == name {
			return m.values(q), true
		}
	}
	p.Fail("parameter %s is not part of the network", name)
	return nil, false
}
