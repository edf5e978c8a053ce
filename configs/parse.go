package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Parse reads a configuration and applies overrides to it. The file is only a name for messages.
//
// An override is "key=value", such as "privacy.clip_norm=0.5" or "data.classes=[cat, dog]": a full
// key and a scalar or flow list, as strict as in a file. The last override of a key wins. An
// override of one of several keys that exclude each other (data.name, data.folder and data.table;
// model.name and model.layers; training.epochs and training.steps) removes the others from the
// file, and keys of the file that lose their meaning by an override are dropped:
// "optimizer.name=adam" drops the file's momentum.
//
// The error is a Problems with everything that is wrong, and matches ErrInvalid.
func Parse(file string, src []byte, overrides []string) (*Config, error) {
	r := &report{}
	settings := parseOverrides(r, overrides)
	return resolve(r, file, src, settings)
}

// assignment is one key with a value, wherever it was written.
type assignment struct {
	field    *field
	value    *node
	override bool // not from the configuration file itself
}

// document holds the settings of a configuration by key.
type document map[string]assignment

// section is where a section of the file begins, and whether it could be read.
type section struct {
	at     position
	broken bool
}

// resolve reads a configuration file, applies the settings over it, and returns the configuration if
// there is nothing to report.
func resolve(r *report, file string, src []byte, settings []assignment) (*Config, error) {
	doc, sections := document{}, map[string]section{"": {at: position{file: file, line: 1, column: 1}}}
	root := read(r, file, "", src)
	if root == nil {
		return nil, r.err()
	}
	if root.kind == mapping {
		doc.collect(r, root, "", sections)
	} else {
		r.expected(root, "", "a mapping with the keys "+strings.Join(children(""), ", "), "")
	}
	for _, s := range settings {
		doc[s.field.path] = s
	}
	doc.pairs(r)
	c := DefaultConfig()
	bad := doc.decode(r, &c)
	doc.conditions(r, &c, bad)
	if root.kind == mapping {
		check(r, &c, doc, bad, sections)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	// The resolved form has to pass the limits too, because resuming a run reads it.
	if _, message := unreadable(c.YAML()); message != "" {
		r.addf(sections[""].at, "", "in the resolved configuration: %s", message)
		return nil, r.err()
	}
	return &c, nil
}

// collect walks the mapping of a section and files every key by its path.
func (d document) collect(r *report, n *node, parent string, sections map[string]section) {
	for _, e := range n.entries {
		path := join(parent, e.key)
		if f := fieldAt(path); f != nil {
			d[path] = assignment{field: f, value: e.value}
			continue
		}
		below := children(path)
		if below == nil {
			r.unknown(e, parent, children(parent), elsewhere(e.key))
			continue
		}
		sections[path] = section{at: e.at, broken: e.value.kind != mapping}
		if e.value.kind != mapping {
			r.expected(e.value, path, "a mapping with the keys "+strings.Join(below, ", "), "")
			continue
		}
		d.collect(r, e.value, path, sections)
	}
}

// pairs sees to it that at most one key of each pair is left.
func (d document) pairs(r *report) {
	for _, p := range pairs {
		a, hasA := d[p.a]
		b, hasB := d[p.b]
		switch {
		case !hasA || !hasB:
		case a.override && !b.override:
			delete(d, p.b)
		case b.override && !a.override:
			delete(d, p.a)
		default:
			r.addf(b.value.at, p.b, "found together with %s, expected one of the two", p.a)
		}
	}
}

// decode stores every value over the defaults, reports the wrong ones and returns their paths.
func (d document) decode(r *report, c *Config) (bad map[string]bool) {
	bad = map[string]bool{}
	for i := range fields {
		f := &fields[i]
		s, ok := d[f.path]
		if !ok {
			continue
		}
		for _, excluded := range others(f.path) {
			if _, both := d[excluded]; !both {
				fieldAt(excluded).copy(c, &Config{}) // its default gives way
			}
		}
		bad[f.path] = !decode(f.formatIn(c), r, s.value, f.path, f.at(c))
	}
	return bad
}

// conditions reports keys that mean nothing beside the others, so that nobody believes in the effect
// of a key that is never looked at. It drops them where an override took their meaning away.
func (d document) conditions(r *report, c *Config, bad map[string]bool) {
	defaults := DefaultConfig()
	for i := range fields {
		f := &fields[i]
		s, ok := d[f.path]
		isBad := func(path string) bool { return bad[path] }
		if !ok || f.applies(c) || bad[f.path] || bad[f.only.key] || slices.ContainsFunc(others(f.only.key), isBad) {
			continue
		}
		if d.overrides(f.only.key) && !s.override {
			f.copy(c, &defaults)
			delete(d, f.path)
			continue
		}
		r.addf(s.value.at, f.path, "found without effect, expected it only with %s", f.only)
	}
}

// overrides reports whether a key, or one that it excludes, was set by an override.
func (d document) overrides(path string) bool {
	return d[path].override || slices.ContainsFunc(others(path), func(other string) bool { return d[other].override })
}

// parseOverrides reads "key=value" texts; for a key that comes twice the last one wins.
func parseOverrides(r *report, overrides []string) []assignment {
	var settings []assignment
	for _, text := range overrides {
		key, value, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		at := position{override: cmp.Or(printable(key), `""`)}
		f := fieldAt(key)
		switch {
		case !found:
			r.addf(at, "", "found no value, expected key=value")
			continue
		case f == nil:
			r.unknownOverride(at, key)
			continue
		case strings.Contains(value, "\n"):
			r.addf(at, "", "found several lines, expected a value in one line")
			continue
		}
		if n := read(r, "", key, []byte(value)); n != nil {
			settings = append(settings, assignment{f, n, true})
		}
	}
	return lastOfEach(settings)
}

// lastOfEach keeps the last setting of every key.
func lastOfEach(settings []assignment) []assignment {
	var out []assignment
	for i, s := range settings {
		again := slices.ContainsFunc(settings[i+1:], func(later assignment) bool { return later.field == s.field })
		if !again {
			out = append(out, s)
		}
	}
	return out
}

// unknownOverride reports an override of something that is not a key.
func (r *report) unknownOverride(at position, key string) {
	if below := children(key); key != "" && below != nil {
		r.addf(at, "", "found a section, expected a key such as %s.%s", key, below[0])
		return
	}
	r.addf(at, "", "%s", unknownPath(key))
}

// unknownPath says that a full path is not a key, and which may have been meant.
func unknownPath(key string) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.path
	}
	last := key[strings.LastIndex(key, ".")+1:]
	suggestion := elsewhere(last)
	if suggestion == "" {
		suggestion = nearest(key, known)
	}
	if suggestion != "" {
		suggestion = " (" + didYouMean(suggestion) + ")"
	}
	return fmt.Sprintf("found an unknown key, expected a full key such as privacy.clip_norm%s", suggestion)
}
