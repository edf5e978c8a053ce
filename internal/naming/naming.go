// Package naming knows the names that other programs give the parameters of a network, so that
// their files are read, and written again, as they are.
//
// A [Family] names parameters by the layers of the network alone. It names all parameters of a
// network, or none.
package naming

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dpsgd/internal/kernel"
	"dpsgd/model"
)

// named says where a parameter of a network stands in the files of a family.
type named struct {
	rule
	own     model.Tensor // as the network has it
	tensors []string     // their names in files; several make up the first axis of the parameter, one after the other
	shape   []int        // of each of them in files
	turned  bool         // files have the matrix with rows and columns exchanged
}

// Family is a way of naming parameters.
type Family struct {
	Name   string   // of the program
	prefix string   // that names in files may lack
	beside []string // how names begin or end that files may have beside those of the network
	rules  []rule
	also   *strings.Replacer // turns other names that the program gives, or gave, into these; nil if there are none

	outline *regexp.Regexp // of the networks that it knows; nil for any
	turned  bool           // files have the matrices of blocks as (in, out), as in the class Conv1D of GPT-2
}

// of returns how the family names the parameters of a network, in their order; nil if it has no
// name for one of them, or one name for two, or the network lacks a layer of the family.
func (f Family) of(m *model.Model) (all []named) {
	if f.outline != nil && !f.outline.MatchString(outlineOf(m.Layers())) {
		return nil
	}
	layers, used := placesOf(m.Layers()), make([]bool, len(f.rules))
	for _, own := range m.Merged() {
		i := slices.IndexFunc(f.rules, func(r rule) bool { return r.names(layers, own.Name) != nil })
		if i < 0 {
			return nil
		}
		r := f.rules[i]
		n := named{rule: r, own: own, tensors: r.names(layers, own.Name), shape: append(slices.Repeat([]int{1}, r.lead), own.Shape...)}
		if n.shape[0] /= len(n.tensors); f.turned && r.kind == (model.TransformerEncoder{}).Kind() && len(n.shape) == 2 {
			n.turned = true
			slices.Reverse(n.shape)
		}
		if slices.ContainsFunc(all, func(other named) bool { return other.tensors[0] == n.tensors[0] }) {
			return nil
		}
		all, used[i] = append(all, n), true
	}
	if slices.Contains(used, false) {
		return nil
	}
	return all
}

// Read returns the tensors of a file under the names of the network, and what begins at random:
// what except names, and the last layer where the file has none or one for another number of
// classes. Names of a family may have the same words before them, as "module.". A file with names of
// the network, or of no family, stays as it is. Of a family, Read refuses a file for other layers,
// one that lacks another parameter in its shape, and one with a tensor that has no place.
func Read(m *model.Model, file []model.Tensor, except []string) ([]model.Tensor, []string, error) {
	for _, own := range m.Merged() {
		if slices.ContainsFunc(file, func(t model.Tensor) bool { return t.Name == own.Name }) {
			return file, except, nil
		}
	}
	var other error
	for short := file; len(short) > 0 && other == nil; short = withoutFirstWord(short) {
		for _, f := range families {
			all := f.of(m)
			if slices.ContainsFunc(all, func(n named) bool { return f.find(short, n.tensors[0]) != nil }) {
				return f.read(all, short, except)
			}
			if found := f.find(short, f.rules[0].theirs[0]+".weight"); f.outline != nil && found != nil {
				other = fmt.Errorf("found the tensor %q for a network of other layers, expected %s", found.Name, inWords.Replace(f.outline.String()))
			}
		}
	}
	return file, except, other
}

// withoutFirstWord returns a file whose names lack the first word that all have; nil if none is.
func withoutFirstWord(file []model.Tensor) []model.Tensor {
	short := slices.Clone(file)
	for i, t := range file {
		first, rest, _ := strings.Cut(t.Name, ".")
		if !strings.HasPrefix(file[0].Name, first+".") {
			return nil
		}
		short[i].Name = rest
	}
	return short
}

// find returns the tensor of a name, which may lack the family's prefix; nil if there is none.
func (f Family) find(file []model.Tensor, name string) *model.Tensor {
	i := slices.IndexFunc(file, func(t model.Tensor) bool { return t.Name == name || f.prefix+t.Name == name })
	if i < 0 {
		return nil
	}
	return &file[i]
}

func (f Family) read(all []named, file []model.Tensor, except []string) (tensors []model.Tensor, random []string, err error) {
	file, random = slices.Clone(file), slices.Clone(except)
	for i, t := range file {
		file[i].Name = cmp.Or(f.also, new(strings.Replacer)).Replace(t.Name)
	}
	var known []string
	for _, n := range all {
		known = append(append(known, n.tensors...), n.types)
		switch first := f.find(file, n.tensors[0]); {
		case slices.ContainsFunc(except, func(e string) bool { return e == n.own.Name || strings.HasPrefix(n.own.Name, e+".") }):
			continue
		case n.head && (first == nil || otherRows(first.Shape, n.shape)): // of other classes
			random = append(random, n.own.Name)
			continue
		}
		t := model.Tensor{Name: n.own.Name, Shape: n.own.Shape}
		for _, name := range n.tensors {
			values, err := f.rows(file, name, n.shape, n.longer)
			if err != nil {
				return nil, nil, err
			}
			t.Data = append(t.Data, n.turn(values, n.shape)...)
		}
		if n.types != "" {
			first, err := f.rows(file, n.types, []int{1, n.shape[1]}, true)
			if err != nil {
				return nil, nil, err
			}
			for i := range t.Data {
				t.Data[i] += first[i%len(first)]
			}
		}
		tensors = append(tensors, t)
	}
	for _, t := range file {
		beside := slices.ContainsFunc(f.beside, func(b string) bool { return strings.HasPrefix(t.Name, b) || strings.HasSuffix(t.Name, b) })
		if !beside && !slices.Contains(known, t.Name) && !slices.Contains(known, f.prefix+t.Name) {
			return nil, nil, fmt.Errorf("found the tensor %q of shape %v, for which the network has no layer", t.Name, t.Shape)
		}
	}
	return tensors, random, nil
}

// turn returns the values of a matrix of that shape with rows and columns exchanged, if files have them so.
func (n named) turn(values []float32, shape []int) []float32 {
	if !n.turned {
		return values
	}
	out := make([]float32, len(values))
	kernel.Transpose(out, values, 1, shape[0], shape[1])
	return out
}

// rows returns the values of a tensor of that name and shape. Where more is true, it may have more
// rows, which are left out.
func (f Family) rows(file []model.Tensor, name string, shape []int, more bool) ([]float32, error) {
	found := f.find(file, name)
	if found == nil {
		return nil, fmt.Errorf("found no tensor %q, expected one of shape %v", name, shape)
	}
	if !(slices.Equal(found.Shape, shape) || more && otherRows(found.Shape, shape) && found.Shape[0] > shape[0]) {
		return nil, fmt.Errorf("found the tensor %q of shape %v, expected %v", found.Name, found.Shape, shape)
	}
	return found.Data[:len(found.Data)/found.Shape[0]*shape[0]], nil
}

// otherRows reports whether shapes differ in the first axis alone.
func otherRows(a, b []int) bool {
	return len(a) == len(b) && a[0] != b[0] && slices.Equal(a[1:], b[1:])
}

// Write returns the parameters of a network as the program of that name keeps them; nil if it has no
// such network.
func Write(m *model.Model, program string) (tensors []model.Tensor) {
	for _, f := range families {
		if f.Name != program {
			continue
		}
		for _, n := range f.of(m) {
			each := len(n.own.Data) / len(n.tensors)
			for i, name := range n.tensors {
				tensors = append(tensors, model.Tensor{Name: name, Shape: slices.Clone(n.shape), Data: n.turn(n.own.Data[i*each:(i+1)*each], n.own.Shape)})
			}
			if n.types != "" { // of two types, as BERT has; they are in the rows of the parameter
				tensors = append(tensors, model.Tensor{Name: n.types, Shape: []int{2, n.shape[1]}, Data: make([]float32, 2*n.shape[1])})
			}
		}
	}
	return tensors
}
