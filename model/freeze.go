package model

import (
	"fmt"
	"slices"
	"strings"
)

// TrainOnly freezes all parameters but those that names stand for, as in [Model.Freeze], and the
// factors of adapters. A weight that has factors is frozen in any case. No names stand for all
// parameters, and in a network with adapters for the head.
func (m *Model) TrainOnly(names []string) error {
	_, adapted := m.Adapters()
	switch {
	case len(names) == 0 && len(adapted) == 0:
		return nil
	case len(names) == 0:
		names = []string{Head}
	}
	chosen, err := m.named(names)
	if err != nil {
		return err
	}
	for i, p := range m.parameters {
		chosen[i] = !(chosen[i] && !slices.Contains(adapted, p.Name) || IsFactor(p.Name))
	}
	return m.freeze(chosen)
}

// Freeze takes parameters out of Values, so that they are not trained: they keep the values that
// they have, and nothing of an example is released for them. A name stands for a parameter, for a
// layer with all that it holds, or, as [Biases], [Head] and [Norms], for several. At least one parameter is left
// to train. Graphs are declared afterwards.
func (m *Model) Freeze(names []string) error {
	chosen, err := m.named(names)
	if err != nil {
		return err
	}
	return m.freeze(chosen)
}

// freeze freezes the chosen parameters.
func (m *Model) freeze(chosen []bool) error {
	parameters := slices.Clone(m.parameters)
	var trained, frozen []float32
	left := false
	for i, p := range m.parameters {
		into := &trained
		if p.frozen || chosen[i] {
			into, parameters[i].frozen = &frozen, true
		}
		left = left || !parameters[i].frozen
		parameters[i].Offset = len(*into)
		*into = append(*into, m.values(p)...)
	}
	if !left {
		return fmt.Errorf("model: all %d parameters are frozen, expected at least one to train", len(parameters))
	}
	m.parameters, m.Values, m.frozen = parameters, trained, frozen
	return nil
}

// Sizes returns how many values are trained and how many are frozen. It works for a sketch, too.
func (m *Model) Sizes() (trained, frozen int) {
	for _, p := range m.parameters {
		if p.frozen {
			frozen += p.Size()
		} else {
			trained += p.Size()
		}
	}
	return trained, frozen
}

// FrozenValues returns how many values are not trained; 0 for a sketch, see Sizes.
func (m *Model) FrozenValues() int { return len(m.frozen) }

// isFrozen reports whether the parameter of this name is not trained.
func (m *Model) isFrozen(name string) bool {
	return slices.ContainsFunc(m.parameters, func(p Parameter) bool { return p.frozen && p.Name == name })
}

// values returns the values of a parameter, nil in a sketch.
func (m *Model) values(p Parameter) []float32 {
	if m.sketched {
		return nil
	}
	if p.frozen {
		return m.frozen[p.Offset : p.Offset+p.Size()]
	}
	return m.Values[p.Offset : p.Offset+p.Size()]
}

// Words that stand for parameters of several layers.
const (
	Biases = "biases" // all that layers add
	Head   = "head"   // the last layer that has parameters
	Norms  = "norms"  // the gains and shifts of normalisations
)

// named returns, for each parameter, whether a name stands for it, see [Model.Freeze].
func (m *Model) named(names []string) ([]bool, error) {
	chosen := make([]bool, len(m.parameters))
	for _, name := range names {
		found := false
		for i, p := range m.parameters {
			if m.standsFor(name, p.Name) {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("model: found no layer with parameters and no parameter called %q, expected a name such as %q or %q",
				name, LayerOf(m.parameters[0].Name), m.parameters[0].Name)
		}
	}
	return chosen, nil
}

// standsFor reports whether a name stands for a parameter.
func (m *Model) standsFor(name, parameter string) bool {
	switch name {
	case Biases:
		return strings.Contains(strings.TrimPrefix(parameter, LayerOf(parameter)), "bias")
	case Head:
		return inside(parameter, m.head())
	case Norms:
		return slices.ContainsFunc(m.layers, func(l LayerInfo) bool {
			return l.Name == LayerOf(parameter) && (l.Kind == GroupNorm{}.Kind() || l.Kind == LayerNorm{}.Kind())
		})
	}
	return inside(parameter, name)
}

// head returns the name of the last layer, or block, that has parameters.
func (m *Model) head() string {
	last := slices.IndexFunc(m.parameters, func(p Parameter) bool { return IsFactor(p.Name) })
	if last < 0 {
		last = len(m.parameters)
	}
	name, _, _ := strings.Cut(m.parameters[last-1].Name, ".")
	return name
}

// inside reports whether a name is that of a layer or parameter, or of something in it.
func inside(name, of string) bool { return name == of || strings.HasPrefix(name, of+".") }

// LayerOf returns the name of the layer of a parameter: "0" for "0.weight".
func LayerOf(parameter string) string { return parameter[:strings.LastIndex(parameter, ".")] }
