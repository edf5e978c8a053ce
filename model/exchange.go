package model

import (
	"fmt"
	"slices"

	"dpsgd/checkpoints/safetensors"
)

// Tensor is one parameter in PyTorch's name and layout, as a model file holds it.
type Tensor = safetensors.Tensor

// Export returns copies of all parameters, frozen ones too, as PyTorch's state_dict has them.
func (m *Model) Export() []Tensor {
	tensors := make([]Tensor, len(m.parameters))
	for i, p := range m.parameters {
		data, values := make([]float32, p.Size()), m.values(p)
		p.eachPair(func(memory, torch int) { data[torch] = values[memory] })
		tensors[i] = Tensor{Name: p.Name, Shape: slices.Clone(p.Shape), Data: data}
	}
	return tensors
}

// Import copies parameters in. Names and shapes must be exactly the network's, in any order, and
// values finite; otherwise nothing is changed.
func (m *Model) Import(tensors []Tensor) error {
	found := make([]*Tensor, len(m.parameters))
	for _, t := range tensors {
		i := slices.IndexFunc(m.parameters, func(p Parameter) bool { return p.Name == t.Name })
		switch {
		case i < 0:
			return fmt.Errorf("model: found a tensor %q that the network does not have, expected one of %d parameters such as %q", t.Name, len(m.parameters), m.parameters[0].Name)
		case found[i] != nil:
			return fmt.Errorf("model: found tensor %q twice", t.Name)
		case !slices.Equal(t.Shape, m.parameters[i].Shape) || len(t.Data) != m.parameters[i].Size():
			return fmt.Errorf("model: tensor %q has shape %v with %d values, expected %v", t.Name, t.Shape, len(t.Data), m.parameters[i].Shape)
		case slices.ContainsFunc(t.Data, func(v float32) bool { return v-v != 0 }):
			return fmt.Errorf("model: tensor %q holds a value that is not finite", t.Name)
		case m.parameters[i].variance && slices.Min(t.Data) < 0:
			return fmt.Errorf("model: tensor %q holds %v, expected variances, which are at least 0", t.Name, slices.Min(t.Data))
		}
		found[i] = &t
	}
	for i, p := range m.parameters {
		if found[i] == nil {
			return fmt.Errorf("model: tensor %q is missing", p.Name)
		}
	}
	for i, p := range m.parameters {
		values, data := m.values(p), found[i].Data
		p.eachPair(func(memory, torch int) { values[memory] = data[torch] })
	}
	return nil
}

// Start copies in the weights that training is to begin with. Parameters named in except keep their
// random values; names are as in [Model.Freeze]. Each other parameter must be among the tensors,
// which may have more than the network but no factors of adapters, in its shape, with finite values;
// otherwise nothing is changed. Factors of the network's own adapters begin at random.
func (m *Model) Start(tensors []Tensor, except []string) error {
	kept, err := m.named(except)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(tensors, func(t Tensor) bool { return IsFactor(t.Name) }); i >= 0 {
		return fmt.Errorf("model: tensor %q is a factor of an adapter, expected weights with their adapters merged, as train export writes them", tensors[i].Name)
	}
	all := m.Export()
	for i, p := range m.parameters {
		if kept[i] || IsFactor(p.Name) {
			continue
		}
		j := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == p.Name })
		if j < 0 {
			return fmt.Errorf("model: tensor %q is missing", p.Name)
		}
		all[i] = tensors[j]
	}
	return m.Import(all)
}
