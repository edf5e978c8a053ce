// Package setting is the vocabulary in which layers, update rules, schedules and clipping
// policies say what can be configured about them.
//
// A [Kind] is one row of a table: a name, and how to make a new thing of that kind with its
// defaults. A thing with arguments lists each [Argument] with a pointer to where its value is
// stored, as package flag binds its variables, and with a [Format], which says what a value may be.
// Everything else follows from these: what a YAML file may hold, how it is written again, the JSON
// schema, the reference and the error messages (package configs), and the check of values that a Go
// program sets ([Check]).
package setting

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Kind is one row of a table of things that can be chosen by name.
type Kind[T any] struct {
	Name string
	Also []string // its names in other libraries, for suggestions
	Doc  string   // one sentence, for the reference; may be empty
	New  func() T // a new one, every argument at its default
}

// KindOf returns a kind of things with a method Name, which returns the name of the kind. It has no
// Doc.
func KindOf[T interface{ Name() string }](fresh func() T) Kind[T] {
	return Kind[T]{Name: fresh().Name(), New: fresh}
}

// Kinds lists everything of one sort that can be chosen by name, as all layers or all update rules.
// No two of them have one name.
type Kinds[T any] []Kind[T]

// Names lists the names in the order of the table.
func (ks Kinds[T]) Names() []string {
	names := make([]string, len(ks))
	for i, k := range ks {
		names[i] = k.Name
	}
	return names
}

// Where lists the names of those kinds of which holds returns true for a new thing.
func (ks Kinds[T]) Where(holds func(T) bool) (names []string) {
	for _, k := range ks {
		if holds(k.New()) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Or joins names, at least one, as in "a, b or c".
func Or(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Named returns the kind of a name, and whether there is one.
func (ks Kinds[T]) Named(name string) (Kind[T], bool) {
	i := slices.IndexFunc(ks, func(k Kind[T]) bool { return k.Name == name })
	if i < 0 {
		return Kind[T]{}, false
	}
	return ks[i], true
}

// Argument is one value that can be set on a thing.
type Argument struct {
	Name      string
	Also      []string // its names in other libraries, for suggestions
	Doc       string   // one sentence
	Format    Format
	Value     any    // a pointer to where it is stored; its type is the format's
	Required  bool   // there is no default
	Otherwise func() // called where the argument is left out and its default depends on the others; may be nil
	Later     bool   // the first version did not know it: written only where it is not at its default, so that the plans of older runs stay the same
}

// configurable is a thing with arguments.
type configurable interface{ Arguments() []Argument }

// Arguments lists the arguments of a thing: what its method Arguments returns, or none if it has no
// such method. For a struct that is not behind a pointer, they point into a copy.
func Arguments(thing any) []Argument {
	if v := reflect.ValueOf(thing); v.Kind() == reflect.Struct {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		thing = p.Interface()
	}
	if t, ok := thing.(configurable); ok {
		return t.Arguments()
	}
	return nil
}

// Find returns the argument of a name, or nil.
func Find(arguments []Argument, name string) *Argument {
	i := slices.IndexFunc(arguments, func(a Argument) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &arguments[i]
}

// Check returns an error if an argument of the thing holds a value that its format does not allow,
// the first such one, or nil. The name is the thing's, for the message.
func Check(name string, thing any) error {
	for _, a := range Arguments(thing) {
		s, ok := a.Format.(Scalar)
		if !ok {
			continue
		}
		// What is written of an allowed value can be read back.
		again := reflect.New(reflect.TypeOf(a.Value).Elem()).Interface()
		if text := s.Encode(a.Value); !s.Parse(text, false, again) {
			return fmt.Errorf("%s of %s is %s, expected %s", a.Name, name, text, s.Expected())
		}
	}
	return nil
}
