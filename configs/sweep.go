package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/configs/internal/format"
	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
)

// Sweep is a grid of configurations: every combination of the listed values, applied as overrides
// to a base, once per seed.
type Sweep struct {
	Name  string   // folder of the sweep within runs
	Base  string   // a preset, or the path of a configuration
	Set   []Axis   // keys with one value, the same for all trials
	Grid  []Axis   // in file order
	Seeds []uint64 // of training.seed; empty leaves the seed of the base

	file   string // for messages and for a relative Base
	baseAt source.Position
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
	sweepName  = format.Text{What: runName.What, Pattern: `^[A-Za-z0-9_][A-Za-z0-9._-]*$`, Max: 64}
	basePath   = format.Text{What: "a preset or the path of a configuration", Pattern: `^.+$`, Max: 4096}
	seedFormat = setting.Integer{Min: 0, Max: source.MaxExactInteger}
	seedKey    = "training.seed"
)

// ParseSweep reads a sweep file. The file name is for messages, and a path in base is relative to
// its folder. The error is a Problems and matches ErrInvalid.
func ParseSweep(file string, src []byte) (*Sweep, error) {
	r := &source.Report{}
	s := &Sweep{file: file}
	root := source.Read(r, source.Start(file), src)
	if root == nil {
		return nil, r.Err()
	}
	if root.Kind != source.Mapping {
		r.Expected(root, "", "a mapping with the keys "+strings.Join(sweepKeys, ", "), "")
		return nil, r.Err()
	}
	for _, e := range root.Entries {
		s.decode(r, e)
	}
	s.check(r, root)
	if err := r.Err(); err != nil {
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
func (s *Sweep) decode(r *source.Report, e source.Entry) {
	switch e.Key {
	case "name":
		decode(sweepName, r, e.Value, e.Key, &s.Name)
	case "base":
		s.baseAt = e.Value.At
		decode(basePath, r, e.Value, e.Key, &s.Base)
	case "set":
		s.decodeSet(r, e.Value)
	case "grid":
		s.decodeGrid(r, e.Value)
	case "seeds":
		s.decodeSeeds(r, e.Value)
	default:
		unknown(r, e, "", sweepKeys, "")
	}
}

func (s *Sweep) decodeSet(r *source.Report, n *source.Node) {
	if n.Kind != source.Mapping {
		r.Expected(n, "set", "a mapping from keys such as training.epochs to values", "")
		return
	}
	for _, e := range n.Entries {
		if f := sweptField(r, e, "set."); f != nil {
			s.Set = append(s.Set, decodeAxis(r, f, []*source.Node{e.Value}, "set."+e.Key))
		}
	}
}

func (s *Sweep) decodeGrid(r *source.Report, n *source.Node) {
	if n.Kind != source.Mapping {
		r.Expected(n, "grid", "a mapping from keys such as privacy.clip_norm to lists of values", "")
		return
	}
	for _, e := range n.Entries {
		f := sweptField(r, e, "grid.")
		switch {
		case f == nil:
		case e.Value.Kind != source.List || len(e.Value.Items) == 0:
			r.Expected(e.Value, "grid."+e.Key, "a list of values", e.Value.BracketHint())
		default:
			s.Grid = append(s.Grid, decodeAxis(r, f, e.Value.Items, "grid."+e.Key))
		}
	}
}

// sweptField returns the field of a full key, or reports why there is none.
func sweptField(r *source.Report, e source.Entry, section string) *field {
	f := fieldAt(e.Key)
	switch {
	case f == nil:
		r.Addf(e.At, section+source.Printable(e.Key), "%s", unknownPath(e.Key))
	case f.path == "run.name":
		r.Addf(e.At, section+e.Key, "found a key that cannot be set, expected none: each trial is named after its values")
		return nil
	}
	return f
}

// decodeAxis reads the values of one key, which must differ. A value in a set has no index.
func decodeAxis(r *source.Report, f *field, items []*source.Node, section string) Axis {
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
			r.Addf(item.At, key, "found %s twice, expected values that differ", value)
			continue
		}
		axis.Values = append(axis.Values, value)
		axis.settings = append(axis.settings, assignment{f, item, true})
	}
	return axis
}

func (s *Sweep) decodeSeeds(r *source.Report, n *source.Node) {
	if n.Kind != source.List || len(n.Items) == 0 {
		r.Expected(n, "seeds", "a list of whole numbers", n.BracketHint())
		return
	}
	seeds, ok := decodeItems[uint64](r, seedFormat, n, "seeds")
	for i, seed := range seeds {
		if ok && slices.Contains(seeds[:i], seed) {
			r.Addf(n.Items[i].At, fmt.Sprintf("seeds[%d]", i), "found %d twice, expected seeds that differ", seed)
		}
	}
	s.Seeds = seeds
}

// check reports what is missing, a key in two places, and a grid so large that nobody means it.
func (s *Sweep) check(r *source.Report, root *source.Node) {
	expect := func(expected string, keys ...string) { // one of the keys
		if !slices.ContainsFunc(root.Entries, func(e source.Entry) bool { return slices.Contains(keys, e.Key) }) {
			r.Addf(root.At, keys[0], "found nothing, expected %s", expected)
		}
	}
	expect(sweepName.Expected(), "name")
	expect(basePath.Expected(), "base")
	expect("a mapping from keys to lists of values, or seeds", "grid", "seeds")
	places := map[string]string{} // of every key
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
		r.Addf(root.At, "grid", "found more than %d trials, expected at most %d", maxTrials, maxTrials)
	}
}

// claim reports a key that another part of the file sets already.
func (s *Sweep) claim(r *source.Report, places map[string]string, axis Axis, place string) {
	if taken, again := places[axis.Key]; again && len(axis.settings) > 0 {
		r.Addf(axis.settings[0].value.At, place+"."+axis.Key, "found together with %s, expected one of the two", taken)
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
