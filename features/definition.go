package features

import (
	"dpsgd/features/scattering"
)

// Definition is everything that rows follow from, for programs that compute them in another way:
// the transform, one of the two; its values raised to a power; and how they are evened out.
type Definition struct {
	Patches    []PatchDefinition // one after the other; nil for another transform
	Scattering *scattering.Definition
	Power      float64
	Groups     int // in which the coefficients of scattering are normalised, for each channel of a picture; 0 for not at all
	Flattening *Flattening
}

// defined is a transform that can say what it follows from.
type defined interface{ define(d *Definition) }

// Definition returns the definition of e, and false where its transform has none.
func (e *Extraction) Definition() (Definition, bool) {
	d := Definition{Power: 1, Flattening: e.flattening}
	t, ok := e.prepared.(defined)
	if ok {
		t.define(&d)
	}
	return d, ok
}

func (r raised) define(d *Definition) {
	d.Power = r.power
	switch t := r.Prepared.(type) {
	case joined:
		for _, p := range t {
			d.Patches = append(d.Patches, p.Definition())
		}
	case *scattering.Scattering:
		of := t.Definition()
		d.Scattering = &of
	}
}

func (g grouped) define(d *Definition) {
	g.raised.define(d)
	d.Groups = g.groups
}
