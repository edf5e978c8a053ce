// Package naming knows the names that other programs give the parameters of a network, so that
// their files are read, and written again, as they are.
//
// A [Family] names parameters by the layers of the network alone. It names all parameters of a
// network, or none.
package naming

import (
	"fmt"
	"slices"
	"strings"

	"dpsgd/model"
)

// Named says where a parameter of a network stands in the files of a family.
type Named struct {
	Own     model.Tensor // as the network has it
	Tensors []string     // their names in files; several make up the first axis of the parameter, one after the other
	Shape   []int        // of each of them
	Head    bool         // it belongs to the last layer, which a network for other classes learns anew
}

// Family is a way of naming parameters.
type Family struct {
	Name   string   // of the program
	prefix string   // that names in files may have
	beside []string // how names begin or end that files may have beside those of the network
	rules  []rule
}

// Of returns how the family names the parameters of a network, in their order; nil if it has no
// name for one of them, or one name for two.
func (f Family) Of(m *model.Model) (named []Named) {
	layers := placesOf(m.Layers())
	for _, own := range m.Merged() {
		i := slices.IndexFunc(f.rules, func(r rule) bool { return r.names(layers, own.Name) != nil })
		if i < 0 {
			return nil
		}
		r := f.rules[i]
		n := Named{Own: own, Tensors: r.names(layers, own.Name), Head: r.head, Shape: append(slices.Repeat([]int{1}, r.lead), own.Shape...)}
		n.Shape[0] /= len(n.Tensors)
		if slices.ContainsFunc(named, func(other Named) bool { return other.Tensors[0] == n.Tensors[0] }) {
			return nil
		}
		named = append(named, n)
	}
	return named
}

// Read returns the tensors of a file under the names of the network, and what begins at random:
// what except names, and the last layer where the file has none or one for another number of
// classes. It returns a file with names of the network itself, or of no family, as it is. Of a
// family, it refuses a file without one of the other parameters in its shape, and one with a tensor
// that the network has no place for: that would be another network.
func Read(m *model.Model, file []model.Tensor, except []string) ([]model.Tensor, []string, error) {
	for _, own := range m.Merged() {
		if slices.ContainsFunc(file, func(t model.Tensor) bool { return t.Name == own.Name }) {
			return file, except, nil
		}
	}
	for _, f := range families {
		named := f.Of(m)
		if slices.ContainsFunc(named, func(n Named) bool { return f.find(file, n.Tensors[0]) != nil }) {
			return f.read(named, file, except)
		}
	}
	return file, except, nil
}

// find returns the tensor of a name, which may have the family's prefix; nil if there is none.
func (f Family) find(file []model.Tensor, name string) *model.Tensor {
	i := slices.IndexFunc(file, func(t model.Tensor) bool { return t.Name == name || t.Name == f.prefix+name })
	if i < 0 {
		return nil
	}
	return &file[i]
}

func (f Family) read(named []Named, file []model.Tensor, except []string) (tensors []model.Tensor, random []string, err error) {
	random = slices.Clone(except)
	for _, n := range named {
		switch {
		case slices.ContainsFunc(except, func(e string) bool { return e == n.Own.Name || strings.HasPrefix(n.Own.Name, e+".") }):
			continue
		case n.Head && f.otherHead(n, file):
			random = append(random, n.Own.Name)
			continue
		}
		t := model.Tensor{Name: n.Own.Name, Shape: n.Own.Shape}
		for _, name := range n.Tensors {
			found := f.find(file, name)
			if found == nil {
				return nil, nil, fmt.Errorf("found no tensor %q, expected one of shape %v", name, n.Shape)
			}
			if !slices.Equal(found.Shape, n.Shape) {
				return nil, nil, fmt.Errorf("found the tensor %q of shape %v, expected %v", found.Name, found.Shape, n.Shape)
			}
			t.Data = append(t.Data, found.Data...)
		}
		tensors = append(tensors, t)
	}
	for _, t := range file {
		if !f.hasPlace(named, t.Name) {
			return nil, nil, fmt.Errorf("found the tensor %q of shape %v, for which the network has no layer", t.Name, t.Shape)
		}
	}
	return tensors, random, nil
}

// otherHead reports whether the file has no tensor for a parameter of the last layer, or one for
// another number of classes.
func (f Family) otherHead(n Named, file []model.Tensor) bool {
	found := f.find(file, n.Tensors[0])
	return found == nil || len(found.Shape) == len(n.Shape) && found.Shape[0] != n.Shape[0] && slices.Equal(found.Shape[1:], n.Shape[1:])
}

// hasPlace reports whether a file may have a tensor of that name.
func (f Family) hasPlace(named []Named, name string) bool {
	for _, b := range f.beside {
		if strings.HasPrefix(name, b) || strings.HasSuffix(name, b) {
			return true
		}
	}
	return slices.ContainsFunc(named, func(n Named) bool {
		return slices.Contains(n.Tensors, name) || slices.Contains(n.Tensors, strings.TrimPrefix(name, f.prefix))
	})
}

// Write returns the parameters of a network as the program of that name keeps them; nil if it has no
// such network.
func Write(m *model.Model, program string) (tensors []model.Tensor) {
	for _, f := range families {
		if f.Name != program {
			continue
		}
		for _, n := range f.Of(m) {
			each := len(n.Own.Data) / len(n.Tensors)
			for i, name := range n.Tensors {
				if !n.Head {
					name = f.prefix + name
				}
				tensors = append(tensors, model.Tensor{Name: name, Shape: slices.Clone(n.Shape), Data: n.Own.Data[i*each : (i+1)*each]})
			}
		}
	}
	return tensors
}
