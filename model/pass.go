package model

import (
	"fmt"
	"slices"
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
	// What does not fit fails the pass. A layer calls another one through [Pass.Layer], which stops
	// after the first failure.
	Forward(p *Pass, x *gorgonia.Node) *gorgonia.Node
}

// Pass is one declaration of a network on a graph. Layers use it to add operations, to ask for
// their parameters and to announce how these are used.
type Pass struct {
	*graph.Builder
	// Training is false in a pass that only predicts: dropout does nothing there.
	Training bool

	model  *Model
	first  bool // the model gets the parameters that it lacks, drawn from src
	src    *random.Public
	path   []string
	values int // of the parameters so far
	uses   []perexample.Use
	layers []LayerInfo

	parameters map[string]*gorgonia.Node // by name: layers can share one

	tokens  *gorgonia.Node                    // where examples are sequences of tokens: these, which embedding takes
	lengths map[*gorgonia.Node]*gorgonia.Node // see lengthsOf
}

// LayerInfo describes one layer of a declared network.
type LayerInfo struct {
	Name         string `json:"name"` // place in the network, such as "3" or "4.body.0"
	Kind         string `json:"kind"`
	Output       []int  `json:"output"` // shape of one example's output
	Parameters   int    `json:"parameters"`
	MultiplyAdds int    `json:"multiply_adds"` // of the forward pass, per example
	Causal       bool   `json:"causal,omitempty"`
}

// Parameter returns the node of a trainable tensor of the current layer. Shape is PyTorch's; order,
// which may be nil, is the memory order: axis i in memory is axis order[i] of shape.
func (p *Pass) Parameter(name string, init initialiser, shape, order []int) *gorgonia.Node {
	return p.parameter(Parameter{Name: name, Shape: shape, order: order}, init)
}

// constant returns the node of a parameter of the current layer that is never trained: it has the
// value v everywhere, or what given weights have.
func (p *Pass) constant(q Parameter, v float32) *gorgonia.Node {
	q.frozen = true
	return p.parameter(q, constant(v))
}

// parameter returns the node of a parameter, whose name is that within the current layer.
func (p *Pass) parameter(q Parameter, init initialiser) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	q.Name = strings.Join(append(append([]string{}, p.path...), q.Name), ".")
	full, shape, order := q.Name, q.Shape, q.order
	i := slices.IndexFunc(p.model.parameters, func(q Parameter) bool { return q.Name == full })
	if i < 0 && p.first {
		i = len(p.model.parameters)
		p.model.add(q, init, p.src)
	}
	if i < 0 {
		p.Fail("parameter %s is not part of the network", full)
		return nil
	}
	memory := shape
	if order != nil {
		memory = make([]int, len(shape))
		for i, axis := range order {
			memory[i] = shape[axis]
		}
	}
	p.values += product(shape)
	if p.parameters[full] == nil {
		p.parameters[full] = p.Builder.Parameter(full, p.model.values(p.model.parameters[i]), memory...)
	}
	return p.parameters[full]
}

// Use announces that z is computed from x and the parameter, with the rule of its per-example
// gradient.
func (p *Pass) Use(parameter *gorgonia.Node, rule perexample.Rule, x, z *gorgonia.Node) {
	if p.Err() != nil {
		return
	}
	if !p.model.isFrozen(parameter.Name()) {
		p.Track(z)
	}
	p.uses = append(p.uses, perexample.Use{Parameter: parameter.Name(), Rule: rule, Input: x, Output: z})
}

// Layer declares l on x under a name inside the current layer, and returns its output.
func (p *Pass) Layer(name string, l Layer, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	p.path = append(p.path, name)
	defer func() { p.path = p.path[:len(p.path)-1] }()
	if x == p.tokens && l.Kind() != (Embedding{}).Kind() {
		return p.reject("it is a %s and its input is tokens, expected an embedding in front of it", l.Kind())
	}
	at, before := len(p.layers), p.values
	p.layers = append(p.layers, LayerInfo{Name: strings.Join(p.path, "."), Kind: l.Kind()})
	z := l.Forward(p, x)
	if p.Err() != nil || z == nil {
		p.reject("(%s): no output", l.Kind())
		return nil
	}
	if _, known := p.lengths[z]; !known && len(z.Shape()) == 3 {
		p.setLengths(z, p.lengths[x])
	}
	p.layers[at].Output = z.Shape()[1:]
	p.layers[at].Parameters = p.values - before
	return z
}

// last returns the number of the last layer that is in no block, "0" in a network without layers.
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

// reject fails the pass with a [LayerError] about the current layer, and returns nil.
func (p *Pass) reject(format string, args ...any) *gorgonia.Node {
	p.Fail("%w", &LayerError{strings.Join(p.path, "."), fmt.Sprintf(format, args...)})
	return nil
}

// image returns the sizes of a node of images (B, H, W, C), and refuses any other node.
func (p *Pass) image(x *gorgonia.Node) (batch, height, width, channels int, ok bool) {
	s := x.Shape()
	switch {
	case p.model.input.row():
		p.reject("its input has shape %v per example, expected an image (height, width, channels); the examples are rows of numbers, not pictures", []int(s[1:]))
	case len(s) == 3:
		p.reject("its input is a sequence of shape %v per example, expected an image (height, width, channels)", []int(s[1:]))
	case len(s) != 4:
		p.reject("its input has shape %v per example, expected an image (height, width, channels); is it behind flatten?", []int(s[1:]))
	default:
		return s[0], s[1], s[2], s[3], true
	}
	return 0, 0, 0, 0, false
}
