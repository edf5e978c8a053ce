package accountant

import (
	"fmt"
	"slices"
)

// registry has a row for each accountant: the name it answers to and its constructor, with default
// options.
var registry = []struct {
	name string
	make func(Relation) (Accountant, error)
}{
	{"advanced", func(r Relation) (Accountant, error) { return NewAdvanced(r) }},
	{"basic", func(r Relation) (Accountant, error) { return NewBasic(r) }},
	{"exact", func(r Relation) (Accountant, error) { return NewExact(r) }},
	{"optimal", func(r Relation) (Accountant, error) { return NewOptimal(r) }},
	{"pld", func(r Relation) (Accountant, error) { return NewPLD(r, 0) }},
	{"rdp", func(r Relation) (Accountant, error) { return NewRDP(r, DefaultOrders()) }},
	{"zcdp", func(r Relation) (Accountant, error) { return NewZCDP(r) }},
}

// New returns the accountant of that name for relation r, with its default options. See Names. An unknown
// name is an error that matches accountant.ErrUnsupported.
func New(name string, r Relation) (Accountant, error) {
	for _, row := range registry {
		if row.name == name {
			return row.make(r)
		}
	}
	return nil, fmt.Errorf("%w: accountant is %.40q, want one of %q", ErrUnsupported, name, Names())
}

// Names returns the names that New knows, sorted.
func Names() []string {
	var names []string
	for _, row := range registry {
		names = append(names, row.name)
	}
	slices.Sort(names)
	return names
}
