package configs

import (
	"fmt"
	"strings"
)

// layerList is a list of layers, stored in a *[]Layer.
type layerList struct{ nonEmpty bool }

// maxNesting bounds residual blocks within residual blocks.
const maxNesting = 8

// noBatchNorm says why one layer that everybody knows is missing.
const noBatchNorm = "group_norm instead: batch normalisation mixes the examples of a batch, so that clipping one example's gradient does not bound what that example changes"

func (f layerList) decode(r *report, n *node, key string, into any) bool {
	if n.kind != list || f.nonEmpty && len(n.items) == 0 {
		r.expected(n, key, f.expected(), "")
		return false
	}
	if strings.Count(key, ".residual.") > maxNesting {
		r.addf(n.at, key, "found residual blocks more than %d deep, expected at most %d", maxNesting, maxNesting)
		return false
	}
	var layers []Layer
	ok := true
	for i, item := range n.items {
		layer, good := decodeLayer(r, item, fmt.Sprintf("%s[%d]", key, i))
		layers, ok = append(layers, layer), ok && good
	}
	*into.(*[]Layer) = layers
	return ok
}

// decodeLayer reads one layer: its name alone, or a mapping from its name to its arguments.
func decodeLayer(r *report, n *node, key string) (Layer, bool) {
	name, at, arguments := n.text, n, []entry(nil)
	switch {
	case n.kind == mapping && len(n.entries) == 1:
		e := n.entries[0]
		name, at = e.key, &node{kind: scalar, text: e.key, at: e.at}
		if e.value.kind != mapping && layerKindNamed(name) != nil {
			r.expected(e.value, key+"."+name, "a mapping of its arguments", "")
			return Layer{}, false
		}
		arguments = e.value.entries
	case n.kind != scalar:
		r.expected(n, key, "a layer such as relu or linear: {out_features: 10}", "")
		return Layer{}, false
	}
	kind := layerKindNamed(name)
	if kind == nil {
		if strings.Contains(squash(name), "batchnorm") {
			r.expected(at, key, noBatchNorm, "")
		} else {
			r.expected(at, key, "one of the layers "+strings.Join(layerNames(), ", "), didYouMean(nearest(name, layerNames())))
		}
		return Layer{}, false
	}
	return kind.decode(r, at.at, arguments, key)
}

// decode reads the arguments of a layer of this kind. key is the place of the layer in its list.
func (k *layerKind) decode(r *report, at position, arguments []entry, key string) (Layer, bool) {
	layer, ok := k.defaults, true
	layer.Kind, layer.Where = k.name, key
	given := map[string]bool{}
	for _, e := range arguments {
		a := k.argumentNamed(e.key)
		if a == nil {
			r.unknown(e, key+"."+k.name, k.argumentNames(), "")
			ok = false
			continue
		}
		given[a.name] = true
		ok = a.format.decode(r, e.value, key+"."+k.name+"."+a.name, a.at(&layer)) && ok
	}
	for _, a := range k.arguments {
		if a.required && !given[a.name] {
			r.addf(at, key+"."+k.name+"."+a.name, "found nothing, expected %s", a.format.expected())
			ok = false
		}
	}
	if k.finish != nil {
		k.finish(&layer)
	}
	return layer, ok
}

// unknown reports a key that is not among the known ones of its section. elsewhere is the full path
// of a key of this name in another section, or "".
func (r *report) unknown(e entry, section string, known []string, elsewhere string) {
	suggestion := nearest(e.key, known)
	if suggestion == "" {
		suggestion = elsewhere
	}
	expected := "no keys here"
	if len(known) > 0 {
		expected = "one of " + strings.Join(known, ", ")
	}
	hint := didYouMean(suggestion)
	if hint != "" {
		hint = " (" + hint + ")"
	}
	r.addf(e.at, join(section, e.key), "found an unknown key, expected %s%s", expected, hint)
}

// encode returns the layers as one flow list.
func (f layerList) encode(from any) string {
	items := []string{}
	for _, l := range *from.(*[]Layer) {
		items = append(items, formatLayer(&l))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// formatLayer returns a layer with all its arguments as one flow value: its bare name, or
// {name: {arguments}}.
func formatLayer(l *Layer) string {
	kind := layerKindNamed(l.Kind)
	if len(kind.arguments) == 0 {
		return l.Kind
	}
	arguments := make([]string, len(kind.arguments))
	for i, a := range kind.arguments {
		arguments[i] = a.name + ": " + a.format.encode(a.at(l))
	}
	return "{" + l.Kind + ": {" + strings.Join(arguments, ", ") + "}}"
}

func (f layerList) expected() string {
	if f.nonEmpty {
		return "a list of at least one layer"
	}
	return "a list of layers"
}

func (f layerList) schema() object {
	s := object{{"$ref", "#/$defs/layers"}}
	if f.nonEmpty {
		s = append(s, member{"minItems", 1})
	}
	return s
}
