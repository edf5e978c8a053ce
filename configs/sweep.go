package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// Sweep is a grid of configurations: every combination of the listed values, applied as overrides to
// a base, once per seed.
type Sweep struct {
	Name  string   // folder of the sweep within runs
	Base  string   // a preset, or the path of a configuration
	Set   []Axis   // keys with one value, the same for all trials
	Grid  []Axis   // in file order
	Seeds []uint64 // of training.seed; empty leaves the seed of the base

	file string // for messages and for a relative Base
}

// Axis is one key of the grid with its values as YAML.
type Axis struct {
	Key    string
	Values []string

	settings []assignment // one for each value
}

// maxTrials bounds a grid; more is a mistake.
const maxTrials = 10000

var (
	sweepName  = text{what: runName.what, pattern: `^[A-Za-z0-9_][A-Za-z0-9._-]*$`, max: 64}
	basePath   = text{what: "a preset or the path of a configuration", pattern: `^.+$`, max: 4096}
	seedFormat = setting.Integer{Min: 0, Max: maxExactInteger}
	seedKey    = "training.seed"
)

// ParseSweep reads a sweep file. The file name is for messages, and a path in base is relative to
// its folder. The error is a Problems and matches ErrInvalid.
func ParseSweep(file string, src []byte) (*Sweep, error) {
	r := &report{}
	s := &Sweep{file: file}
	root := read(r, file, "", src)
	if root == nil {
		return nil, r.err()
	}
	if root.kind != mapping {
		r.expected(root, "", "a mapping with the keys "+strings.Join(sweepKeys, ", "), "")
		return nil, r.err()
	}
	for _, e := range root.entries {
		s.decode(r, e)
	}
	s.check(r, root)
	if err := r.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// LoadSweep reads a sweep that comes with the program, or else the file at a path.
func LoadSweep(nameOrPath string) (*Sweep, error) {
	file, src, err := open(nameOrPath, Sweeps(), "sweep")
	if err != nil {
		return nil, err
	}
	return ParseSweep(file, src)
}

var sweepKeys = []string{"name", "base", "set", "grid", "seeds"}

// decode reads one key of a sweep file.
func (s *Sweep) decode(r *report, e entry) {
	switch e.key {
	case "name":
		decode(sweepName, r, e.value, e.key, &s.Name)
	case "base":
		decode(basePath, r, e.value, e.key, &s.Base)
	case "set":
		s.decodeSet(r, e.value)
	case "grid":
		s.decodeGrid(r, e.value)
	case "seeds":
		s.decodeSeeds(r, e.value)
	default:
		r.unknown(e, "", sweepKeys, "")
	}
}

func (s *Sweep) decodeSet(r *report, n *node) {
	if n.kind != mapping {
		r.expected(n, "set", "a mapping from keys such as training.epochs to values", "")
		return
	}
	for _, e := range n.entries {
		if f := sweptField(r, e, "set."); f != nil {
			s.Set = append(s.Set, decodeAxis(r, f, []*node{e.value}, "set."+e.key))
		}
	}
}

func (s *Sweep) decodeGrid(r *report, n *node) {
	if n.kind != mapping {
		r.expected(n, "grid", "a mapping from keys such as privacy.clip_norm to lists of values", "")
		return
	}
	for _, e := range n.entries {
		f := sweptField(r, e, "grid.")
		switch {
		case f == nil:
		case e.value.kind != list || len(e.value.items) == 0:
			r.expected(e.value, "grid."+e.key, "a list of values", listHintOf(e.value))
		default:
			s.Grid = append(s.Grid, decodeAxis(r, f, e.value.items, "grid."+e.key))
		}
	}
}

// sweptField returns the field of a full key, or reports why there is none.
func sweptField(r *report, e entry, section string) *field {
	f := fieldAt(e.key)
	switch {
	case f == nil:
		r.addf(e.at, section+printable(e.key), "%s", unknownPath(e.key))
	case f.path == "run.name":
		r.addf(e.at, section+e.key, "found a key that cannot be set, expected none: each trial is named after its values")
		return nil
	}
	return f
}

func listHintOf(n *node) string {
	if n.kind == scalar {
		return listHint(n)
	}
	return ""
}

// decodeAxis reads the values of one key, which must differ. A value in a set has no index.
func decodeAxis(r *report, f *field, items []*node, section string) Axis {
	axis := Axis{Key: f.path}
	for i, item := range items {
		key := section
		if strings.HasPrefix(section, "grid.") {
			key = fmt.Sprintf("%s[%d]", section, i)
		}
		into := f.at(&Config{})
		if !decode(f.format, r, item, key, into) {
			continue
		}
		value := encode(f.format, into)
		if slices.Contains(axis.Values, value) {
			r.addf(item.at, key, "found %s twice, expected values that differ", value)
			continue
		}
		axis.Values = append(axis.Values, value)
		axis.settings = append(axis.settings, assignment{f, item, true})
	}
	return axis
}

func (s *Sweep) decodeSeeds(r *report, n *node) {
	if n.kind != list || len(n.items) == 0 {
		r.expected(n, "seeds", "a list of whole numbers", listHintOf(n))
		return
	}
	seeds, ok := decodeItems[uint64](r, seedFormat, n, "seeds")
	for i, seed := range seeds {
		if ok && slices.Contains(seeds[:i], seed) {
			r.addf(n.items[i].at, fmt.Sprintf("seeds[%d]", i), "found %d twice, expected seeds that differ", seed)
		}
	}
	s.Seeds = seeds
}

// check reports what is missing, a key in two places, and a grid so large that nobody means it.
func (s *Sweep) check(r *report, root *node) {
	places := map[string]string{} // of every key
	given := map[string]bool{}
	for _, e := range root.entries {
		given[e.key] = true
	}
	for _, f := range []struct {
		key      string
		expected string
		found    bool
	}{
		{"name", sweepName.Expected(), given["name"]},
		{"base", basePath.Expected(), given["base"]},
		{"grid", "a mapping from keys to lists of values, or seeds", given["grid"] || given["seeds"]},
	} {
		if !f.found {
			r.addf(root.at, f.key, "found nothing, expected %s", f.expected)
		}
	}
	if len(s.Seeds) > 0 {
		places[seedKey] = "seeds"
	}
	trials := max(1, len(s.Seeds))
	for _, axis := range s.Set {
		s.claim(r, places, axis, "set")
	}
	for _, axis := range s.Grid {
		s.claim(r, places, axis, "grid")
		trials = min(trials*max(1, len(axis.Values)), maxTrials+1)
	}
	if trials > maxTrials {
		r.addf(root.at, "grid", "found more than %d trials, expected at most %d", maxTrials, maxTrials)
	}
}

// claim reports a key that another part of the file sets already.
func (s *Sweep) claim(r *report, places map[string]string, axis Axis, place string) {
	if taken, again := places[axis.Key]; again && len(axis.settings) > 0 {
		r.addf(axis.settings[0].value.at, place+"."+axis.Key, "found together with %s, expected one of the two", taken)
	}
	places[axis.Key] = place
}

// base returns what Load takes for the base: a path is relative to the folder of the sweep file.
func (s *Sweep) base() string {
	isPreset := slices.ContainsFunc(Presets(), func(p Preset) bool { return p.Name == s.Base })
	if isPreset || filepath.IsAbs(s.Base) || !strings.ContainsAny(s.Base, `/\.`) {
		return s.Base
	}
	return filepath.Join(filepath.Dir(s.file), s.Base)
}
