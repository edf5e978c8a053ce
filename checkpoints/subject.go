package checkpoints

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// nfc returns a name with every letter and its marks as one character. Some file systems take them
// apart, and a folder of data gives the data its name.
var nfc = norm.NFC.String

// Data describes a data set in public terms. It holds nothing that was computed from examples: a
// hash of them would let anyone who guesses them check the guess.
type Data struct {
	Name     string `json:"name"` // as people read it, the unit in front: "labels of digits"
	Examples int    `json:"examples"`
	Shape    string `json:"shape"`
	Classes  int    `json:"classes"`
	Unit     Unit   `json:"unit,omitzero"`
}

// Same reports whether both are the same examples and protect the same unit, as far as names, unit
// and number tell. Shape and classes are left out because a configuration chooses them: whoever
// trains on other columns of a table, or on pictures in another size, learns about the same people.
func (d Data) Same(other Data) bool {
	return d.Examples == other.Examples && d.Subject().Same(other.Subject())
}

// Subject returns the name and the unit.
func (d Data) Subject() Subject { return Subject{d.Name, d.Unit} }

// SameExamples reports whether d and other may be the same examples, whatever unit each protects.
// Where a unit is not known, any beginning of the name may be that of a unit.
func (d Data) SameExamples(other Data) bool {
	a, b := d.Unit.examples(nfc(d.Name)), other.Unit.examples(nfc(other.Name))
	of := func(whole, end string, unit Unit) bool { return !unit.Known() && strings.HasSuffix(whole, " of "+end) }
	return d.Examples == other.Examples && (a == b || of(a, b, d.Unit) || of(b, a, other.Unit))
}

// The kinds of unit.
const (
	Example = "example"
	Label   = "label"
	Person  = "person"
	Client  = "client"
)

// Unit says what a run protects. The zero value is an unknown unit: earlier versions wrote none.
type Unit struct {
	Kind string `json:"kind"`
	// By is the column that tells persons apart, or how the examples were given to clients.
	By string `json:"by,omitempty"`
}

// Known reports whether the unit is recorded.
func (u Unit) Known() bool { return u != Unit{} }

// Same reports whether u and other may be one unit. An unknown unit is the same as every unit, so
// deleting a unit from a file makes no total smaller.
func (u Unit) Same(other Unit) bool { return u == other || !u.Known() || !other.Known() }

// Of returns the name of data with that unit of the examples with that name: "labels of digits".
func (u Unit) Of(examples string) string {
	switch {
	case u.Kind == Label:
		return "labels of " + examples
	case u.Kind == Person && u.By != "":
		return "persons by " + u.By + " of " + examples
	case u.Kind == Person:
		return "persons of " + examples
	case u.Kind == Client:
		return u.By + " of " + examples
	}
	return examples
}

// examples returns the name of the examples: the name of data without the unit in front, or all of
// it where the unit is not known.
func (u Unit) examples(name string) string { return strings.TrimPrefix(name, u.Of("")) }

// Subject names what a total or a limit is about: data by their name, whatever number of examples a
// run sees of them, and the unit that is protected. Without a unit it is about all data of that
// name.
type Subject struct {
	Data string `json:"data"`
	Unit Unit   `json:"unit,omitzero"`
}

// Same reports whether what is released about s counts for other, and the reverse.
func (s Subject) Same(other Subject) bool {
	return nfc(s.Data) == nfc(other.Data) && s.Unit.Same(other.Unit)
}

// check refuses a unit that is not the one at the beginning of the name.
func (s Subject) check() error {
	known := slices.Contains([]string{"", Example, Label, Person, Client}, s.Unit.Kind)
	if !known || s.Unit.Kind == "" && s.Unit.By != "" || !strings.HasPrefix(s.Data, s.Unit.Of("")) {
		return fmt.Errorf("found the unit %+v of %.60q, expected the one in its name", s.Unit, s.Data)
	}
	return nil
}
