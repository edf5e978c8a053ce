package model

import (
	"fmt"
	"slices"
	"strings"
)

// Freeze takes parameters out of Values, so that they are not trained: they keep the values that
// they have, and nothing of an example is released for them. A name stands for a parameter, or for
// a layer with all that it holds. At least one parameter is left to train. Graphs are declared
// afterwards.
func (m *Model) Freeze(names []string) error {
	chosen, err := m.named(names)
	if err != nil {
		return err
	}
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

// named returns, for each parameter, whether a name stands for it or for a layer that holds it.
func (m *Model) named(names []string) ([]bool, error) {
	chosen := make([]bool, len(m.parameters))
	for _, name := range names {
		found := false
		for i, p := range m.parameters {
			if p.Name == name || strings.HasPrefix(p.Name, name+".") {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("model: found no layer with parameters and no parameter called %q, expected a name such as %q or %q",
				name, m.parameters[0].Name[:strings.LastIndex(m.parameters[0].Name, ".")], m.parameters[0].Name)
		}
	}
	return chosen, nil
}
