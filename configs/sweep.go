package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// Sweep is what a sweep file says: other values for keys of a base, as a grid or drawn, each of
// these points once per seed.
type Sweep struct {
	Name   string       // folder of the sweep within runs
	Base   string       // a preset, or the path of a configuration
	Set    []Axis       // keys with one value, the same for all trials
	Grid   []Axis       // in file order
	Random []Range      // in file order; of these and Grid, one is empty
	Number *TrialNumber // of points to draw; nil without Random
	Seeds  []uint64     // of training.seed; empty leaves the seed of the base

	// Parallel is how many trials are trained at a time, 1 in most sweeps.
	Parallel int
	// Scale is by how much smaller than the base's the batches of the trials are, with as much less
	// noise; 1 in most sweeps.
	Scale int

	file   string // for messages and for a relative Base
	baseAt Position
	seeds  []Value
}

// Axis is one key with its values.
type Axis struct {
	Key    string
	Values []Value
}

// maxTrials bounds a sweep; more is a mistake.
const maxTrials = 10000

var (
	sweepName      = freeText{What: "a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_'", Pattern: `^[A-Za-z0-9_][A-Za-z0-9._-]*$`, Max: 64}
	basePath       = freeText{What: "a preset or the path of a configuration", Pattern: `^.+$`, Max: 4096}
	seedFormat     = setting.Integer{Min: 0, Max: maxExactInteger}
	seedCount      = setting.Integer{Min: 1, Max: 1000}
	parallelTrials = setting.Integer{Min: 1, Max: 64}
	tanScale       = setting.Integer{Min: 2, Max: 1024}
)

// SeedKey is the key that Seeds are values of.
const SeedKey = "training.seed"

// ParseSweep reads a sweep file. The file name is for messages, and a path in base is relative to its
// folder. The error is a [Problems] and matches [ErrInvalid].
func ParseSweep(file string, src []byte) (*Sweep, error) {
	r := &report{}
	s := &Sweep{file: file, Parallel: 1, Scale: 1}
	root := readYAML(r, startOf(file), src)
	if root == nil {
		return nil, r.Err()
	}
	if root.Kind != mappingNode {
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

var sweepKeys = []string{"name", "base", "set", "grid", "random", "trials", "seeds", "parallel", "tan"}

// decode reads one key of a sweep file.
func (s *Sweep) decode(r *report, e entry) {
	switch e.Key {
	case "name":
		Decode(sweepName, r, e.Value, e.Key, &s.Name)
	case "base":
		s.baseAt = e.Value.At
		Decode(basePath, r, e.Value, e.Key, &s.Base)
	case "set":
		s.decodeSet(r, e.Value)
	case "grid":
		s.decodeGrid(r, e.Value)
	case "random":
		s.decodeRandom(r, e.Value)
	case "trials":
		s.Number = decodeNumber(r, e.Value)
	case "seeds":
		s.decodeSeeds(r, e.Value)
	case "parallel":
		Decode(parallelTrials, r, e.Value, e.Key, &s.Parallel)
	case "tan":
		s.decodeTAN(r, e.Value)
	default:
		Unknown(r, e, "", sweepKeys)
	}
}

func (s *Sweep) decodeSet(r *report, n *node) {
	if n.Kind != mappingNode {
		r.Expected(n, "set", "a mapping from keys such as training.epochs to values", "")
		return
	}
	for _, e := range n.Entries {
		if key, ok := sweptKey(r, e, "set."); ok {
			axis := Axis{Key: e.Key}
			if v, ok := key.Read(r, e.Value, "set."+e.Key); ok {
				axis.Values = append(axis.Values, v)
			}
			s.Set = append(s.Set, axis)
		}
	}
}

func (s *Sweep) decodeGrid(r *report, n *node) {
	if n.Kind != mappingNode {
		r.Expected(n, "grid", "a mapping from keys such as privacy.clip_norm to lists of values", "")
		return
	}
	for _, e := range n.Entries {
		if key, ok := sweptKey(r, e, "grid."); ok {
			if values := decodeList(r, key, e.Value, "grid."+e.Key); values != nil {
				s.Grid = append(s.Grid, Axis{e.Key, values})
			}
		}
	}
}

// sweptKey returns the key of an entry, or reports why there is none.
func sweptKey(r *report, e entry, section string) (Settable, bool) {
	key, err := SettableAt(e.Key)
	if err != nil {
		r.Addf(e.At, section+printable(e.Key), "%s", err)
		return key, false
	}
	if e.Key == "run.name" {
		r.Addf(e.At, section+e.Key, "found a key that cannot be set, expected none: each trial is named after its values")
		return key, false
	}
	return key, true
}

// decodeList reads a list of values of one key, which must differ; nil where it is no list.
func decodeList(r *report, key Settable, n *node, name string) []Value {
	if n.Kind != listNode || len(n.Items) == 0 {
		r.Expected(n, name, "a list of values", n.BracketHint())
		return nil
	}
	values := []Value{}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", name, i)
		v, ok := key.Read(r, item, at)
		switch {
		case !ok:
		case slices.ContainsFunc(values, func(known Value) bool { return known.Text == v.Text }):
			r.Addf(item.At, at, "found %s twice, expected values that differ", v.Text)
		default:
			values = append(values, v)
		}
	}
	return values
}

// decodeSeeds reads a list of seeds, or their number: 3 is [1, 2, 3].
func (s *Sweep) decodeSeeds(r *report, n *node) {
	if n.Kind == listNode && len(n.Items) > 0 {
		for i, item := range n.Items {
			s.addSeed(r, item, fmt.Sprintf("seeds[%d]", i))
		}
		return
	}
	var count int
	if n.Kind != scalarNode || !seedCount.Parse(n.Text, n.Quoted, &count) {
		r.Expected(n, "seeds", "a list of whole numbers, or how many: "+seedCount.Expected(), "")
		return
	}
	for seed := range count {
		s.addSeed(r, &node{Kind: scalarNode, Text: fmt.Sprint(seed + 1), At: n.At}, "seeds")
	}
}

func (s *Sweep) addSeed(r *report, n *node, name string) {
	key, err := SettableAt(SeedKey)
	if err != nil {
		panic(err)
	}
	var seed uint64
	if !Decode(seedFormat, r, n, name, &seed) {
		return
	}
	if slices.Contains(s.Seeds, seed) {
		r.Addf(n.At, name, "found %d twice, expected seeds that differ", seed)
		return
	}
	if v, ok := key.Read(r, n, name); ok {
		s.Seeds, s.seeds = append(s.Seeds, seed), append(s.seeds, v)
	}
}

// decodeTAN reads how much smaller the trials are than what they stand for.
func (s *Sweep) decodeTAN(r *report, n *node) {
	if n.Kind != mappingNode {
		r.Expected(n, "tan", "a mapping with the key scale", "")
		return
	}
	for _, e := range n.Entries {
		if e.Key != "scale" {
			Unknown(r, e, "tan", []string{"scale"})
			continue
		}
		Decode(tanScale, r, e.Value, "tan.scale", &s.Scale)
	}
	if len(n.Entries) == 0 {
		r.Addf(n.At, "tan.scale", "found nothing, expected %s", tanScale.Expected())
	}
}

// check reports what is missing, what does not go together, and a grid so large that nobody means
// it.
func (s *Sweep) check(r *report, root *node) {
	has := func(key string) bool {
		return slices.ContainsFunc(root.Entries, func(e entry) bool { return e.Key == key })
	}
	expect := func(expected string, anyOf ...string) {
		if !slices.ContainsFunc(anyOf, has) {
			r.Addf(root.At, anyOf[0], "found nothing, expected %s", expected)
		}
	}
	expect(sweepName.Expected(), "name")
	expect(basePath.Expected(), "base")
	expect("a mapping from keys to lists of values, or random, or seeds", "grid", "random", "seeds")
	if has("grid") && has("random") {
		r.Addf(root.At, "random", "found together with grid, expected one of the two (a list is drawn from by {choices: [...]})")
	}
	switch {
	case has("random") && !has("trials"):
		r.Addf(root.At, "trials", "found nothing, expected how many points to draw, %s", numberExpected)
	case has("trials") && !has("random"):
		r.Addf(root.At, "trials", "found without random, expected it only where points are drawn")
	}
	s.checkPlaces(r)
	s.checkSize(r, root)
	s.checkDrawn(r)
}

// checkPlaces reports a key that two parts of the file set.
func (s *Sweep) checkPlaces(r *report) {
	places := map[string]string{} // of every key
	if len(s.Seeds) > 0 {
		places[SeedKey] = "seeds"
	}
	claim := func(key, place string, values []Value) {
		if taken, again := places[key]; again && len(values) > 0 {
			r.Addf(values[0].At(), place+"."+key, "found together with %s, expected one of the two", taken)
		}
		places[key] = place
	}
	for _, axis := range s.Set {
		claim(axis.Key, "set", axis.Values)
	}
	for _, axis := range s.Grid {
		claim(axis.Key, "grid", axis.Values)
	}
	for _, random := range s.Random {
		claim(random.Key, "random", random.Values)
	}
}

func (s *Sweep) checkSize(r *report, root *node) {
	trials, place := max(1, len(s.Seeds)), "grid"
	for _, axis := range s.Grid {
		trials = min(trials*max(1, len(axis.Values)), maxTrials+1)
	}
	if s.Number != nil {
		trials, place = trials*s.Number.Fixed, "trials"
	}
	if trials > maxTrials {
		r.Addf(root.At, place, "found more than %d trials, expected at most %d", maxTrials, maxTrials)
	}
	corners := 1
	for _, random := range s.Random {
		corners = min(corners*max(1, len(random.Values)), maxTrials+1)
	}
	if corners > maxTrials && s.Number != nil && s.Number.Drawn() {
		r.Addf(root.At, "random", "found more than %d combinations of choices, expected at most %d where the number of trials is drawn", maxTrials, maxTrials)
	}
}

// base returns what OpenBase takes: a path is relative to the folder of the sweep file.
func (s *Sweep) base() string {
	isPreset := slices.ContainsFunc(Presets(), func(p Preset) bool { return p.Name == s.Base })
	if isPreset || filepath.IsAbs(s.Base) || !strings.ContainsAny(s.Base, `/\.`) {
		return s.Base
	}
	return filepath.Join(filepath.Dir(s.file), s.Base)
}
