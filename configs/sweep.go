package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// Sweep is what a sweep file says. A point gives some keys of the base other values; points are a
// grid, or are drawn at random. Each point is trained once per seed.
type Sweep struct {
	Name   string       // folder of the sweep within runs
	Base   string       // a preset, or the path of a configuration
	Number *TrialNumber // how many points are drawn; nil for a grid

	// Parallel is how many trials are trained at a time, 1 in most sweeps.
	Parallel int
	// Scale divides the batch size and the noise of the base in every trial; 1 in most sweeps.
	Scale int

	file   string // for messages and for a relative Base
	baseAt Position
	set    []axis // keys with one value, the same for all trials
	grid   []axis // in file order
	random []axis // in file order; of random and grid, at least one is empty
	seeds  []axis // SeedKey with the seeds of each point; empty leaves the seed of the base
}

// axis is a key with its values, or with what they are drawn from.
type axis struct {
	*field
	law    string  // how values are drawn: choices, uniform or log_uniform; "" if they are not
	values []value // of uniform and log_uniform the two ends
}

// value is one value of a key, with its text as YAML in one line.
type value struct {
	assignment
	text string
}

// read adds n to the values of the key and returns true, or reports under the name why not.
func (a *axis) read(r *report, n *node, name string) bool {
	into := a.at(&Config{})
	ok := decode(a.format, r, n, name, into)
	if ok {
		a.values = append(a.values, value{assignment{a.field, n, true}, encode(a.format, into)})
	}
	return ok
}

// readAll reads a list of values that all differ. what is the word for values in messages.
func (a *axis) readAll(r *report, n *node, name, what string) {
	if n.Kind != listNode || len(n.Items) == 0 {
		r.Expected(n, name, "a list of values", n.BracketHint())
		return
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if known := a.values; a.read(r, item, at) {
			last := a.values[len(known)].text
			if slices.ContainsFunc(known, func(v value) bool { return v.text == last }) {
				r.Addf(item.At, at, "found %s twice, expected %s that differ", last, what)
				a.values = known
			}
		}
	}
}

// maxTrials is the most trials of a sweep; more is a mistake.
const maxTrials = 10000

var (
	sweepName = freeText{What: runName.What, Pattern: `^[A-Za-z0-9_][A-Za-z0-9._-]*$`, Max: 64}
	basePath  = freeText{What: "a preset or the path of a configuration", Pattern: `^.+$`, Max: 4096}
	seedCount = setting.Integer{Min: 1, Max: 1000}
	tanScale  = setting.Integer{Min: 2, Max: 1024}
)

// SeedKey is the key to which the seeds of a sweep give values.
const SeedKey = "training.seed"

func (s *Sweep) arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "name", Format: sweepName, Value: &s.Name, Required: true, Doc: "Folder of the sweep within runs."},
		{Name: "base", Format: basePath, Value: &s.Base, Required: true, Doc: "A preset, or the path of a configuration from this file's folder."},
		{Name: "set", Format: axes(0, "a mapping from keys such as training.epochs to values", func(a *axis, r *report, n *node, name string) { a.read(r, n, name) }), Value: &s.set,
			Doc: "Values that are the same for all trials."},
		{Name: "grid", Format: axes(0, "a mapping from keys such as privacy.clip_norm to lists of values", func(a *axis, r *report, n *node, name string) { a.readAll(r, n, name, "values") }), Value: &s.grid,
			Doc: "Every combination of the listed values is a point."},
		{Name: "random", Format: axes(1, "a mapping from keys such as privacy.clip_norm to {log_uniform: [0.1, 10]}", (*axis).readLaw), Value: &s.random,
			Doc: "What the values of each point are drawn from."},
		{Name: "trials", Format: form[*TrialNumber]{read: readNumber}, Value: &s.Number, Doc: "With random: how many points are drawn, or what that number is drawn from."},
		{Name: "seeds", Format: form[Sweep]{read: (*Sweep).readSeeds}, Value: s, Doc: "Values of training.seed, or how many: 3 is [1, 2, 3]. Every point is trained with each."},
		{Name: "parallel", Format: setting.Integer{Min: 1, Max: 64}, Value: &s.Parallel, Doc: "How many trials are trained at a time."},
		{Name: "tan", Format: form[Sweep]{read: (*Sweep).readTAN}, Value: s, Doc: "Trials with batches and noise that are smaller by this factor, and as many steps."},
	}
}

// ParseSweep reads a sweep file. The file name is for messages; a path in base is relative to the
// folder of that file. The error is a [Problems] and matches [ErrInvalid].
func ParseSweep(file string, src []byte) (*Sweep, error) {
	r := &report{}
	s := &Sweep{file: file, Parallel: 1, Scale: 1}
	arguments := s.arguments()
	root := readYAML(r, startOf(file), src)
	switch {
	case root == nil:
	case root.Kind != mappingNode:
		r.Expected(root, "", "a mapping with the keys "+strings.Join(argumentNames(arguments), ", "), "")
	default:
		decodeArguments(r, arguments, root.At, root.Entries, "")
		if base := find(root, []string{"base"}); base != nil {
			s.baseAt = base.At
		}
		s.check(r, root)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// axes returns the format of a mapping from at least so many keys of configurations. read reads the
// value n of one key into its axis.
func axes(least int, expected string, read func(a *axis, r *report, n *node, name string)) form[[]axis] {
	return form[[]axis]{read: func(into *[]axis, r *report, n *node, section string) bool {
		if n.Kind != mappingNode || len(n.Entries) < least {
			return r.Expected(n, section, expected, "")
		}
		for _, e := range n.Entries {
			name := section + "." + printable(e.Key)
			switch f := fieldAt(e.Key); {
			case f == nil:
				r.Addf(e.At, name, "%s", unknownPath(e.Key))
			case e.Key == "run.name":
				r.Addf(e.At, name, "found a key that cannot be set, expected none: each trial is named after its values")
			default:
				a := axis{field: f}
				read(&a, r, e.Value, name)
				*into = append(*into, a)
			}
		}
		return true
	}}
}

// readSeeds reads a list of seeds, or their number: 3 is [1, 2, 3].
func (s *Sweep) readSeeds(r *report, n *node, name string) bool {
	list := n
	if n.Kind != listNode || len(n.Items) == 0 {
		var count int
		if n.Kind != scalarNode || !seedCount.Parse(n.Text, n.Quoted, &count) {
			return r.Expected(n, name, "a list of whole numbers, or how many: "+seedCount.Expected(), "")
		}
		list = &node{Kind: listNode}
		for seed := range count {
			list.Items = append(list.Items, &node{Kind: scalarNode, Text: fmt.Sprint(seed + 1), At: n.At})
		}
	}
	seeds := axis{field: fieldAt(SeedKey)}
	if seeds.readAll(r, list, name, "seeds"); len(seeds.values) > 0 {
		s.seeds = []axis{seeds}
	}
	return true
}

// Repeats returns how often each point is trained: once per seed, and once if there are no seeds.
func (s *Sweep) Repeats() int { return combined(s.seeds) }

func (s *Sweep) readTAN(r *report, n *node, name string) bool {
	if n.Kind != mappingNode {
		return r.Expected(n, name, "a mapping with the key scale", "")
	}
	return decodeArguments(r, []setting.Argument{{Name: "scale", Format: tanScale, Value: &s.Scale, Required: true}}, n.At, n.Entries, name)
}

// check reports keys that are missing or exclude each other, and sweeps that are too large.
func (s *Sweep) check(r *report, root *node) {
	has := func(key string) bool { return find(root, []string{key}) != nil }
	r.Refuse(!has("grid") && !has("random") && !has("seeds"), root.At, "grid", "found nothing, expected a mapping from keys to lists of values, or random, or seeds")
	r.Refuse(has("grid") && has("random"), root.At, "random", "found together with grid, expected one of the two (a list is drawn from by {choices: [...]})")
	r.Refuse(has("random") && !has("trials"), root.At, "trials", "found nothing, expected how many points to draw, %s", numberExpected)
	r.Refuse(has("trials") && !has("random"), root.At, "trials", "found without random, expected it only where points are drawn")
	s.checkPlaces(r)
	s.checkSize(r, root)
	s.checkDrawn(r)
}

// checkPlaces reports a key that two of seeds, set, grid and random give values to.
func (s *Sweep) checkPlaces(r *report) {
	places := map[string]string{} // of every key
	for _, part := range []struct {
		place string
		axes  []axis
	}{{"seeds", s.seeds}, {"set", s.set}, {"grid", s.grid}, {"random", s.random}} {
		for _, a := range part.axes {
			if taken, again := places[a.path]; again && len(a.values) > 0 {
				r.Addf(a.values[0].value.At, part.place+"."+a.path, "found together with %s, expected one of the two", taken)
			}
			places[a.path] = part.place
		}
	}
}

func (s *Sweep) checkSize(r *report, root *node) {
	trials, place := combined(s.grid)*s.Repeats(), "grid"
	if s.Number != nil {
		trials, place = s.Number.Fixed*s.Repeats(), "trials"
	}
	r.Refuse(trials > maxTrials, root.At, place, "found more than %d trials, expected at most %d", maxTrials, maxTrials)
	r.Refuse(s.Number != nil && s.Number.Drawn() && combined(s.random) > maxTrials, root.At, "random", "found more than %d combinations of choices, expected at most %d where the number of trials is drawn", maxTrials, maxTrials)
}

// combined returns the number of ways to take one value of each axis, at most maxTrials+1.
func combined(axes []axis) int {
	n := 1
	for _, a := range axes {
		n = min(n*max(1, len(a.values)), maxTrials+1)
	}
	return n
}

// base returns the base as [Open] takes it, a relative path behind the folder of the sweep file.
func (s *Sweep) base() string {
	if filepath.IsAbs(s.Base) || !strings.ContainsAny(s.Base, `/\.`) {
		return s.Base
	}
	return filepath.Join(filepath.Dir(s.file), s.Base)
}
