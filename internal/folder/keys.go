package folder

import (
	"fmt"
	"strings"
)

// Differences names what two identities differ in, as "key was, now is". What follows from the
// configuration is named where its keys are equal.
func Differences(old, now string) []string {
	var keys, derived []string
	was, is := Keys(old), Keys(now)
	for _, s := range append(was, is...) {
		a, b := find(was, s.Key), find(is, s.Key)
		text := fmt.Sprintf("%s %s, found %s", s.Key, a, b)
		switch {
		case a == b:
		case strings.Contains(s.Key, "."):
			keys = appendNew(keys, text)
		default:
			derived = appendNew(derived, text)
		}
	}
	if len(keys) > 0 {
		return keys
	}
	return derived
}

func appendNew(list []string, text string) []string {
	for _, known := range list {
		if known == text {
			return list
		}
	}
	return append(list, text)
}

// Pair is one line of an identity, with the items of a list that follow it.
type Pair struct{ Key, Value string }

func find(all []Pair, key string) string {
	for _, s := range all {
		if s.Key == key {
			return s.Value
		}
	}
	return "none"
}

// Keys reads an identity: the YAML that the program wrote, then words with what follows them.
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
