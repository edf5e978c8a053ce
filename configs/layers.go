package configs

import (
	"fmt"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/internal/spelling"
	"dpsgd/model"
)

// maxNesting is how deep residual blocks may be nested.
const maxNesting = 8

// noBatchNorm is what messages expect in place of batch normalisation, which is refused.
const noBatchNorm = "group_norm instead: batch normalisation mixes the examples of a batch, so that clipping one example's gradient does not bound what that example changes; frozen_batch_norm has the constants of given weights"

// decodeLayers stores the layers of a list, reports the wrong ones, returns whether all are right.
func decodeLayers(f model.List, r *report, n *node, key string, into *model.Sequential) bool {
	if n.Kind != listNode || f.NonEmpty && len(n.Items) == 0 {
		return r.Expected(n, key, f.Expected(), "")
	}
	if strings.Count(key, "[") > maxNesting {
		return r.Addf(n.At, key, "found residual blocks more than %d deep, expected at most %d", maxNesting, maxNesting)
	}
	var layers model.Sequential
	ok := true
	for i, item := range n.Items {
		layer, good := decodeLayer(r, item, fmt.Sprintf("%s[%d]", key, i))
		layers, ok = append(layers, layer), ok && good
	}
	*into = layers
	return ok
}

// decodeLayer returns a layer, written as its name or a mapping from its name to its arguments.
func decodeLayer(r *report, n *node, key string) (model.Layer, bool) {
	name, at, arguments := n.Text, n, []entry(nil)
	switch {
	case n.Kind == mappingNode && len(n.Entries) == 1:
		e := n.Entries[0]
		name, at = e.Key, &node{Kind: scalarNode, Text: e.Key, At: e.At}
		if _, known := layerKinds.Named(name); known && e.Value.Kind != mappingNode {
			return nil, r.Expected(e.Value, key+"."+name, "a mapping of its arguments", "")
		}
		arguments = e.Value.Entries
	case n.Kind != scalarNode:
		return nil, r.Expected(n, key, "a layer such as relu or linear: {out_features: 10}", "")
	}
	kind, ok := layerKinds.Named(name)
	if !ok {
		if strings.Contains(spelling.Squash(name), "batchnorm") {
			r.Expected(at, key, noBatchNorm, "")
		} else {
			names := layerKinds.Names()
			r.Expected(at, key, "one of the layers "+strings.Join(names, ", "), spelling.DidYouMean(nearest(name, names)))
		}
		return nil, false
	}
	layer := kind.New()
	return layer, decodeArguments(r, setting.Arguments(layer), at.At, arguments, key+"."+name)
}

// decodeArguments stores entries of a mapping in the arguments of the same name, and calls
// Otherwise of arguments without an entry. It reports unknown and missing keys below section, the
// full key of the mapping, and returns whether there were none.
func decodeArguments(r *report, arguments []setting.Argument, at Position, entries []entry, section string) bool {
	ok, given := true, map[string]bool{}
	for _, e := range entries {
		a := setting.Find(arguments, e.Key)
		if a == nil {
			unknown(r, e, section, argumentNames(arguments), "")
			ok = false
			continue
		}
		given[a.Name] = true
		ok = decode(a.Format, r, e.Value, joinKey(section, a.Name), a.Value) && ok
	}
	for _, a := range arguments {
		switch {
		case given[a.Name]:
		case a.Required:
			r.Addf(at, joinKey(section, a.Name), "found nothing, expected %s", a.Format.Expected())
			ok = false
		case a.Otherwise != nil:
			a.Otherwise()
		}
	}
	return ok
}

func argumentNames(arguments []setting.Argument) []string {
	return texts(arguments, func(a setting.Argument) string { return a.Name })
}

func encodeLayers(layers model.Sequential) string {
	return "[" + strings.Join(texts(layers, encodeLayer), ", ") + "]"
}

// argumentsOf returns the arguments of a layer that belong into a file: see written.
func argumentsOf(l model.Layer) []setting.Argument {
	arguments := setting.Arguments(l)
	kind, known := layerKinds.Named(l.Kind())
	if !known {
		return arguments
	}
	return written(arguments, setting.Arguments(kind.New()))
}

// encodeLayer returns a layer with its arguments as one flow value: its bare name, or
// {name: {arguments}}.
func encodeLayer(l model.Layer) string {
	arguments := encodeArguments(argumentsOf(l))
	if arguments == "" {
		return l.Kind()
	}
	return "{" + l.Kind() + ": {" + arguments + "}}"
}
