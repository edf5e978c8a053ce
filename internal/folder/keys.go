package folder

import (
	"fmt"
	"slices"
	"strings"
)

// Differences returns what two identities differ in, as "key was, found is". It returns other lines
// than those of the configuration, which follow from it, only if the configurations are equal.
func Differences(old, now string) []string {
	var keys, derived []string
	was, is := Keys(old), Keys(now)
	for _, p := range append(was, is...) {
		list := &derived
		if strings.Contains(p.Key, ".") {
			list = &keys
		}
		a, b := find(was, p.Key), find(is, p.Key)
		if text := fmt.Sprintf("%s %s, found %s", p.Key, a, b); a != b && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	if len(keys) > 0 {
		return keys
	}
	return derived
}

// Pair is one line of an identity, with the items of a list that follow it.
type Pair struct{ Key, Value string }

func find(all []Pair, key string) string {
	if i := slices.IndexFunc(all, func(p Pair) bool { return p.Key == key }); i >= 0 {
		return all[i].Value
	}
	return "none"
}

// Keys returns the pairs of an identity: those of the YAML, with keys such as training.steps, and
// then those of the lines after it, whose first word is the key.
func Keys(identity string) []Pair {
	var all []Pair
	var sections []string
	for _, line := range strings.Split(identity, "\n") {
		text := strings.TrimLeft(line, " ")
		depth := (len(line) - len(text)) / 2
		key, value, isYAML := strings.Cut(text, ":")
		switch {
		case text == "":
		case strings.HasPrefix(text, "- ") && len(all) > 0:
			last := &all[len(all)-1]
			last.Value = strings.TrimSpace(last.Value + " " + text[2:])
		case isYAML && depth <= len(sections):
			sections = append(sections[:depth], key)
			if value = strings.TrimSpace(value); value != "" || depth > 0 {
				all = append(all, Pair{strings.Join(sections, "."), value})
			}
		default:
			key, value, _ = strings.Cut(text, " ")
			all = append(all, Pair{key, value})
		}
	}
	return all
}
