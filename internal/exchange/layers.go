package exchange

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"

	"dpsgd/internal/trained"
	"dpsgd/model"
)

// network is a model for the writers of its layers.
type network struct {
	layers  model.Sequential
	tensors map[string]model.Tensor // by name, in PyTorch's layouts
	shapes  map[string][]int        // of the output of each layer by its name: (height, width, channels) or (n)
	err     error                   // the first layer that cannot be written
}

// place is where a layer stands.
type place struct {
	name  string // such as "4.body.0"
	input []int  // the shape of one example
}

func networkOf(m *trained.Model) (*network, error) {
	n := &network{tensors: map[string]model.Tensor{}, shapes: map[string][]int{}}
	for _, t := range m.Network.Export() {
		n.tensors[t.Name] = t
	}
	for _, l := range m.Network.Layers() {
		n.shapes[l.Name] = l.Output
	}
	var err error
	n.layers, err = m.Config.Model.Network()
	return n, err
}

// each calls write for layers one after the other, named below a prefix such as "4.body.". A layer behind a
// pointer is handed over as its value.
func (n *network) each(layers model.Sequential, prefix string, input []int, write func(model.Layer, place)) {
	for i, l := range layers {
		at := place{prefix + strconv.Itoa(i), input}
		write(reflect.Indirect(reflect.ValueOf(l)).Interface().(model.Layer), at)
		input = n.shapes[at.name]
	}
}

// refuse notes a layer that a format cannot hold.
func (n *network) refuse(format string, at place, l model.Layer, language string) {
	n.err = cmp.Or(n.err, fmt.Errorf("%s: layer %s is a %s, which cannot be written in %s", format, at.name, l.Kind(), language))
}
