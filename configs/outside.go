package configs

import (
	"errors"

	"dpsgd/internal/setting"
)

// What is written outside of a configuration file and changes it, as sweeps do.

// Settable is one key of configurations, as something that can be set.
type Settable struct{ field *field }

// SettableAt returns the key with a full path such as privacy.clip_norm. The error says that there
// is none, and which may have been meant.
func SettableAt(path string) (Settable, error) {
	if f := fieldAt(path); f != nil {
		return Settable{f}, nil
	}
	return Settable{}, errors.New(unknownPath(path))
}

// Path returns the full path of the key.
func (k Settable) Path() string { return k.field.path }

// Format is what a value of the key looks like.
func (k Settable) Format() setting.Format { return k.field.format }

// Doc says what the key means, in a sentence or two.
func (k Settable) Doc() string { return k.field.doc }

// Schema returns the JSON schema of a value of the key, with its documentation.
func (k Settable) Schema() setting.Object { return k.field.schema() }

// Value is a value for a key.
type Value struct {
	Key  string // full path
	Text string // as YAML, in one line

	assignment assignment
}

// At is where the value was written.
func (v Value) At() Position { return v.assignment.value.At }

// Read reads a value of the key from n. What is wrong with it is reported under the name, and then
// ok is false.
func (k Settable) Read(r *report, n *node, name string) (v Value, ok bool) {
	into := k.field.at(&Config{})
	if !decode(k.field.format, r, n, name, into) {
		return Value{}, false
	}
	return Value{k.field.path, encode(k.field.format, into), assignment{k.field, n, true}}, true
}

// Base is a configuration that has been read and not yet resolved: values are set over it.
type Base struct {
	file   string
	src    []byte
	preset string // its name; "" for a file
}

// OpenBase reads a preset, or else the file at a path, as [Load] does.
func OpenBase(nameOrPath string) (Base, error) {
	file, src, err := Open(nameOrPath, Presets(), "preset")
	b := Base{file: file, src: src}
	if file != nameOrPath {
		b.preset = nameOrPath
	}
	return b, err
}

// With resolves the configuration with values set over it, the last of a key counting. What is
// wrong with a preset, which nobody has as a file, is wrong at the place that names it.
func (b Base) With(values []Value, named Position) (*Config, error) {
	settings := make([]assignment, len(values))
	for i, v := range values {
		settings[i] = v.assignment
	}
	c, err := resolve(&report{}, b.file, b.src, settings)
	var problems Problems
	if errors.As(err, &problems) && b.preset != "" {
		for i := range problems {
			if problems[i].File == b.file {
				problems[i].Position = named
				problems[i].Message += " (with the preset " + b.preset + ")"
			}
		}
	}
	return c, err
}

// Within resolves those sections of a file that are a configuration's, in a mapping of them alone,
// with overrides as in [Parse]. What is wrong is in the report, and then nothing is returned.
func Within(r *report, file string, sections *node, overrides []string) *Config {
	c, err := resolveRead(r, file, sections, parseOverrides(r, overrides))
	if err != nil {
		return nil
	}
	return c
}

// Decode reads a value that is none of a configuration itself, such as the name of a sweep.
func Decode(f setting.Format, r *report, n *node, name string, into any) bool {
	return decode(f, r, n, name, into)
}

// Unknown reports a key that is not among the known ones of a section; "" is the top level.
func Unknown(r *report, e entry, section string, known []string) {
	unknown(r, e, section, known, "")
}
