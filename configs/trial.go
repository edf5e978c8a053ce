package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/configs/internal/source"
)

// Trial is one configuration of a sweep.
type Trial struct {
	Name      string    // safe for a folder on every system, such as clip_norm=0.1,seed=1
	Settings  []Setting // what distinguishes it, in the order of the grid, the seed last
	Overrides []string  // what Set and the settings change in the base, for Parse and Load
	Base      string    // the preset or path that the overrides apply to, for Load
	Config    *Config   // the resolved configuration
}

// Setting is a swept key with the value that a trial gives it.
type Setting struct {
	Key   string // full path
	Label string // short name of a column: the last part of Key where that is unambiguous
	Value string // as YAML
}

// Trials returns the configurations of the sweep, the last key of the grid and then the seed
// changing fastest. The configuration of every trial is resolved here, so that nothing runs when
// one of them is invalid. The name of a trial is made of its own values alone, so that a grid can
// grow and keep its finished trials.
func (s *Sweep) Trials() ([]Trial, error) {
	base := s.base()
	file, src, err := open(base, Presets(), "preset")
	if err != nil {
		return nil, Problems{{Position: s.baseAt, Key: "base", Message: strings.TrimPrefix(err.Error(), "configs: ")}}
	}
	axes := s.axes()
	labels := labels(axes)
	var trials []Trial
	seen := map[string]bool{}
	for _, combination := range combinations(axes) {
		t := Trial{Base: base}
		var settings []assignment
		for _, fixed := range s.Set {
			settings = append(settings, fixed.settings[0])
			t.Overrides = append(t.Overrides, fixed.Key+"="+fixed.Values[0])
		}
		for i, choice := range combination {
			value := axes[i].Values[choice]
			settings = append(settings, axes[i].settings[choice])
			t.Settings = append(t.Settings, Setting{axes[i].Key, labels[i], value})
			t.Overrides = append(t.Overrides, axes[i].Key+"="+value)
		}
		t.Name = trialName(t.Settings)
		if seen[strings.ToLower(t.Name)] {
			return nil, fmt.Errorf("%w: %s: found two trials with the name %s, expected values that differ in more than case", ErrInvalid, s.file, t.Name)
		}
		seen[strings.ToLower(t.Name)] = true
		if t.Config, err = resolve(&source.Report{}, file, src, settings); err != nil {
			return nil, fmt.Errorf("configs: trial %s of %s: %w", t.Name, s.file, err)
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// axes returns the grid with the seeds as its last axis.
func (s *Sweep) axes() []Axis {
	axes := append([]Axis(nil), s.Grid...)
	if len(s.Seeds) == 0 {
		return axes
	}
	seeds := Axis{Key: seedKey}
	for _, seed := range s.Seeds {
		value := strconv.FormatUint(seed, 10)
		n := &source.Node{Kind: source.Scalar, Text: value, At: source.Start(s.file)}
		seeds.Values = append(seeds.Values, value)
		seeds.settings = append(seeds.settings, assignment{fieldAt(seedKey), n, true})
	}
	return append(axes, seeds)
}

// combinations lists an index into every axis, the last changing fastest.
func combinations(axes []Axis) [][]int {
	all := [][]int{{}}
	for _, axis := range axes {
		var longer [][]int
		for _, c := range all {
			for i := range axis.Values {
				longer = append(longer, append(slices.Clone(c), i))
			}
		}
		all = longer
	}
	return all
}

// labels returns the last part of each key, or the whole key where two keys share it.
func labels(axes []Axis) []string {
	last := func(key string) string { return key[strings.LastIndex(key, ".")+1:] }
	count := map[string]int{}
	for _, axis := range axes {
		count[last(axis.Key)]++
	}
	out := make([]string, len(axes))
	for i, axis := range axes {
		out[i] = axis.Key
		if count[last(axis.Key)] == 1 {
			out[i] = last(axis.Key)
		}
	}
	return out
}

// Limits of a folder's name; the shortest of common file systems is 255 bytes.
const (
	maxValueBytes = 40
	maxNameBytes  = 200
)

var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// trialName joins labels and values. What a folder's name cannot hold is replaced, and where that
// or the length loses something, a hash of the whole is added.
func trialName(settings []Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		value := strings.Trim(unsafeInNames.ReplaceAllString(s.Value, "_"), "_")
		if len(value) > maxValueBytes || value != s.Value {
			value = value[:min(len(value), maxValueBytes)] + "-" + hash(s.Value)
		}
		parts[i] = s.Label + "=" + value
	}
	name := strings.Join(parts, ",")
	if len(name) > maxNameBytes {
		name = name[:maxNameBytes] + "-" + hash(name)
	}
	return name
}

// hash returns 8 hexadecimal digits that stand for s.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
