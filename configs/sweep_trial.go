package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Trial is one configuration of a sweep.
type Trial struct {
	Name      string    // safe for a folder on every system, such as clip_norm=0.1,seed=1
	Point     string    // Name without the seed; trials with one Point differ in their seeds alone
	Settings  []Setting // the values of its own, in the order of the file, the seed last
	Overrides []string  // "key=value" for the values of all trials and for its own, for [Load]
	Base      string    // the preset or path that the overrides apply to, for [Load]
	Config    *Config
}

// Setting is a swept key with the value that a trial gives it.
type Setting struct {
	Key   string // full path
	Label string // short name of a column: the last part of Key where that is unambiguous
	Value string // as YAML
}

// DrawKey is the Key of the setting that holds a drawn point's number or name: points may be equal.
const DrawKey = "draw"

// Trials returns the configurations of a grid, for which d is not used, or of the points in d. The
// seed changes fastest, and before it the last key. The configuration of every trial is resolved
// here, so that nothing runs when one of them is invalid. The name of a trial is made of its own
// values alone, so that a grid can grow and keep its finished trials.
func (s *Sweep) Trials(d Draw) ([]Trial, error) {
	with, err := s.open()
	if err != nil {
		return nil, err
	}
	points, err := s.points(d)
	if err != nil {
		return nil, err
	}
	trials := []Trial{}
	seen := map[string]bool{}
	for i, point := range points {
		for _, seed := range combinations(s.seeds) {
			values := append(slices.Clone(point), seed...)
			t := Trial{Base: s.base(), Settings: settingsOf(values)}
			for _, v := range append(s.fixed(), values...) {
				t.Overrides = append(t.Overrides, v.field.path+"="+v.text)
			}
			if len(s.random) > 0 {
				t.Settings = slices.Insert(t.Settings, 0, Setting{DrawKey, DrawKey, d.name(i)})
			}
			isSeed := func(s Setting) bool { return s.Key == SeedKey }
			t.Name, t.Point = trialName(t.Settings), trialName(slices.DeleteFunc(slices.Clone(t.Settings), isSeed))
			if seen[strings.ToLower(t.Name)] {
				return nil, fmt.Errorf("%w: %s: found two trials with the name %s, expected values that differ in more than case", ErrInvalid, s.file, t.Name)
			}
			seen[strings.ToLower(t.Name)] = true
			if t.Config, err = with(values); err != nil {
				return nil, fmt.Errorf("configs: trial %s of %s: %w", t.Name, s.file, err)
			}
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// open reads the base. It returns a function that resolves the base with the values that all trials
// share and with others, the last of a key counting. A problem in a preset, which nobody has as a
// file, is reported at the place that names the preset.
func (s *Sweep) open() (with func([]value) (*Config, error), err error) {
	file, src, err := Open(s.base(), Presets(), "preset")
	if err != nil {
		return nil, Problems{{Position: s.baseAt, Key: "base", Message: strings.TrimPrefix(err.Error(), "configs: ")}}
	}
	return func(values []value) (*Config, error) {
		var settings []assignment
		for _, v := range append(s.fixed(), values...) {
			settings = append(settings, v.assignment)
		}
		c, err := resolve(&report{}, file, src, settings)
		return c, ofPreset(err, file, s.base(), s.baseAt)
	}, nil
}

// points returns the values of each point, without seeds.
func (s *Sweep) points(d Draw) (points [][]value, err error) {
	if len(s.random) == 0 {
		return combinations(s.grid), nil
	}
	if s.Number.Drawn() {
		// A combination that is invalid is told about also if it was not drawn: a number of trials
		// that is drawn anew after each mistake would be chosen.
		if _, err := s.Candidates(); err != nil {
			return nil, err
		}
	}
	for _, drawn := range d.Points {
		values, err := s.pointOf(drawn)
		if err != nil {
			return nil, err
		}
		points = append(points, values)
	}
	return points, nil
}

func (s *Sweep) fixed() (values []value) {
	for _, a := range s.set {
		values = append(values, a.values...)
	}
	return values
}

// combinations lists every choice of one value of each axis, the last axis changing fastest.
func combinations(axes []axis) [][]value {
	all := [][]value{{}}
	for _, a := range axes {
		var longer [][]value
		for _, c := range all {
			for _, v := range a.values {
				longer = append(longer, append(slices.Clone(c), v))
			}
		}
		all = longer
	}
	return all
}

// settingsOf returns the values as settings, each labelled by the last part of its key if
// unambiguous.
func settingsOf(values []value) []Setting {
	last := func(key string) string { return key[strings.LastIndex(key, ".")+1:] }
	count := map[string]int{}
	for _, v := range values {
		count[last(v.field.path)]++
	}
	settings := make([]Setting, len(values))
	for i, v := range values {
		settings[i] = Setting{v.field.path, v.field.path, v.text}
		if count[last(v.field.path)] == 1 {
			settings[i].Label = last(v.field.path)
		}
	}
	return settings
}

// Limits of a folder's name; the shortest of common file systems is 255 bytes.
const (
	maxValueBytes = 40
	maxNameBytes  = 200
)

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// trialName returns the name of a folder, "label=value,…". It replaces what no such name can hold,
// and adds a hash of the whole where that or the limit of length loses something.
func trialName(settings []Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		value := strings.Trim(unsafeInNames.ReplaceAllString(s.Value, "_"), "_")
		if len(value) > maxValueBytes || value != s.Value {
			value = value[:min(len(value), maxValueBytes)] + "-" + hashOf(s.Value)
		}
		parts[i] = s.Label + "=" + value
	}
	name := strings.Join(parts, ",")
	if len(name) > maxNameBytes {
		name = name[:maxNameBytes] + "-" + hashOf(name)
	}
	return name
}

// hashOf returns the first 8 hexadecimal digits of the SHA-256 hash of s.
func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
