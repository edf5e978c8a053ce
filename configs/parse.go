package configs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/spelling"
	"dpsgd/model"
)

// Parse reads a configuration and applies overrides to it. The file is only a name for messages.
//
// An override is "key=value", such as "privacy.clip_norm=0.5" or "data.classes=[cat, dog]": a full
// key and a scalar or flow list, as strict as in a file. The last override of a key wins. An
// override of one of several keys that exclude each other, such as data.name and data.folder (see
// exclusive), removes the others from the file, and keys of the file that lose their meaning by an
// override are dropped: "optimizer.name=adam" drops the file's momentum.
//
// The error is a Problems with everything that is wrong, and matches ErrInvalid.
func Parse(file string, src []byte, overrides []string) (*Config, error) {
	r := &report{}
	return resolve(r, file, src, parseOverrides(r, overrides))
}

// ParseRun is [Parse] for the file of a run, which may have keys that are refused by now.
func ParseRun(file string, src []byte, overrides []string) (*Config, error) {
	r := &report{ofRun: true}
	return resolve(r, file, src, parseOverrides(r, overrides))
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
	at     Position
	broken bool
}

// resolve reads a configuration file, and puts the settings in place of what the file says. If r
// then holds any problem, also an earlier one, it returns the problems as an error.
func resolve(r *report, file string, src []byte, settings []assignment) (*Config, error) {
	root := readYAML(r, startOf(file), src)
	if root == nil {
		return nil, r.Err()
	}
	return resolveRead(r, file, root, settings)
}

// resolveRead does what resolve does, for a file that readYAML has read.
func resolveRead(r *report, file string, root *node, settings []assignment) (*Config, error) {
	doc, sections := document{}, map[string]section{"": {at: startOf(file)}}
	if root.Kind == mappingNode {
		doc.collect(r, root, "", sections)
	} else {
		r.Expected(root, "", "a mapping with the keys "+strings.Join(children(""), ", "), "")
	}
	for _, s := range settings { // the last of a key wins
		doc[s.field.path] = s
	}
	doc.exclude(r)
	c := DefaultConfig()
	bad := doc.decode(r, &c)
	doc.conditions(r, &c, bad)
	if root.Kind == mappingNode {
		(&checker{r, &c, doc, bad, sections}).check()
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	// The resolved form has to pass the limits too, because resuming a run reads it.
	if _, message := unreadableSource(c.YAML()); message != "" {
		r.Addf(sections[""].at, "", "in the resolved configuration: %s", message)
		return nil, r.Err()
	}
	return &c, nil
}

// collect stores every key of the mapping n, at parent, by its path, and every section. It reports
// unknown keys and sections that are no mapping.
func (d document) collect(r *report, n *node, parent string, sections map[string]section) {
	for _, e := range n.Entries {
		path := joinKey(parent, e.Key)
		if f := fieldAt(path); f != nil {
			d[path] = assignment{field: f, value: e.Value}
			continue
		}
		below := children(path)
		if below == nil {
			unknown(r, e, parent, children(parent), elsewhere(e.Key))
			continue
		}
		sections[path] = section{at: e.At, broken: e.Value.Kind != mappingNode}
		if e.Value.Kind != mappingNode {
			r.Expected(e.Value, path, "a mapping with the keys "+strings.Join(below, ", "), "")
			continue
		}
		d.collect(r, e.Value, path, sections)
	}
}

// exclude looks for keys that exclude each other. It deletes a key of the file if an override
// excludes it, and reports all other such pairs.
func (d document) exclude(r *report) {
	for _, keys := range exclusive {
		for i, second := range keys {
			for _, first := range keys[:i] {
				a, hasA := d[first]
				b, hasB := d[second]
				switch {
				case !hasA || !hasB:
				case a.override && !b.override:
					delete(d, second)
				case b.override && !a.override:
					delete(d, first)
				default:
					r.Addf(b.value.At, second, "found together with %s, expected one of the two", first)
				}
			}
		}
	}
}

// decode stores every value over its default in c, reports the wrong ones, and sets bad for these.
func (d document) decode(r *report, c *Config) (bad map[string]bool) {
	bad = map[string]bool{}
	for _, f := range fields {
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

// conditions reports keys that mean nothing beside the others, so that nobody believes in the
// effect of a key that is never looked at. If an override made it so, it drops the key instead.
func (d document) conditions(r *report, c *Config, bad map[string]bool) {
	defaults, dropped := DefaultConfig(), map[string]bool{}
	for _, f := range fields {
		s, ok := d[f.path]
		if !ok || f.applies(c) || r.ofRun && f.kept() || bad[f.path] || bad[f.only.key] || slices.ContainsFunc(others(f.only.key), func(path string) bool { return bad[path] }) {
			continue
		}
		if (d.overrides(f.only.key) || dropped[f.only.key]) && !s.override {
			f.copy(c, &defaults)
			delete(d, f.path)
			dropped[f.path] = true
			continue
		}
		r.Addf(s.value.At, f.path, "found without effect, expected it only with %s", f.only)
	}
}

// overrides reports whether an override set a key, or one that excludes it.
func (d document) overrides(path string) bool {
	return d[path].override || slices.ContainsFunc(others(path), func(other string) bool { return d[other].override })
}

// parseOverrides returns the assignments of texts "key=value", and reports those it cannot read.
func parseOverrides(r *report, overrides []string) []assignment {
	var settings []assignment
	for _, text := range overrides {
		key, value, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		at := Position{Override: cmp.Or(printable(key), `""`)}
		f, below := fieldAt(key), children(key)
		switch {
		case !found:
			r.Addf(at, "", "found no value, expected key=value")
		case f == nil && key != "" && below != nil:
			r.Addf(at, "", "found a section, expected a key such as %s.%s", key, below[0])
		case f == nil:
			r.Addf(at, "", "%s", unknownPath(key))
		case strings.Contains(value, "\n"):
			r.Addf(at, "", "found several lines, expected a value in one line")
		default:
			if n := readYAML(r, Position{Override: key}, []byte(value)); n != nil {
				settings = append(settings, assignment{f, n, true})
			}
		}
	}
	return settings
}

// unknownPath returns the message for an unknown full path, with the key that may be meant.
func unknownPath(key string) string {
	known := texts(fields, func(f *field) string { return f.path })
	meant := cmp.Or(elsewhere(key[strings.LastIndex(key, ".")+1:]), nearest(key, known))
	return hinted("found an unknown key, expected a full key such as privacy.clip_norm", spelling.DidYouMean(meant))
}

// KeyError says that the value of one key, which is valid by itself, does not fit the data or the
// other values. [Placed] finds where the key stands.
type KeyError struct {
	Key     string // full path, such as privacy.delta
	Problem string // what was found and what was expected, to be read behind the key
}

func (e *KeyError) Error() string { return e.Key + " " + e.Problem }

// Placed puts a place before the text of an error about a layer or the value of a key: file, line
// and column, or the override. The place of a key that the file leaves out is the file. Placed
// returns other errors, and those about a preset or a ready network, as they are.
func Placed(err error, file string, overrides []string) error {
	var layer *model.LayerError
	var key *KeyError
	path, item, said, label := "model.layers", -1, "", ""
	switch {
	case errors.As(err, &layer):
		first, _, _ := strings.Cut(layer.Layer, ".") // within a block, that of the block
		i, notANumber := strconv.Atoi(first)
		if notANumber != nil {
			return err
		}
		item, said, label = i, layer.Error(), fmt.Sprintf("%s[%d]: ", path, i)
	case errors.As(err, &key):
		path, said = key.Key, key.Error() // which begins with the key
	default:
		return err
	}
	for _, o := range overrides {
		if name, _, _ := strings.Cut(o, "="); strings.TrimSpace(name) == path {
			return placed{"--set " + label + said, err}
		}
	}
	content, unreadable := os.ReadFile(file)
	if unreadable != nil {
		return err // a preset
	}
	n := find(readYAML(new(report), startOf(file), content), strings.Split(path, "."))
	switch {
	case n == nil && item < 0:
		return placed{file + ": " + said + " (the file does not say it)", err}
	case n == nil || item >= len(n.Items):
		return err
	case item >= 0:
		n = n.Items[item]
	}
	return placed{fmt.Sprintf("%s:%d:%d: %s%s", n.At.File, n.At.Line, n.At.Column, label, said), err}
}

// placed is an error whose text has its place. It matches, with errors.Is, what whole matches.
type placed struct {
	text  string
	whole error
}

func (p placed) Error() string { return p.text }
func (p placed) Unwrap() error { return p.whole }

// find returns the value at a path of keys below n: n itself for no keys, nil if there is none.
func find(n *node, path []string) *node {
	if n == nil || len(path) == 0 {
		return n
	}
	for _, e := range n.Entries {
		if e.Key == path[0] {
			return find(e.Value, path[1:])
		}
	}
	return nil
}
