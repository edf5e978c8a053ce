// Package accountants makes every accountant by its name.
//
// [GaussianEstimate] is the estimate that is no bound: it is reported beside the answers of
// accountants, and never enforced.
package accountants

import (
	"fmt"
	"slices"

	"dpsgd/accountant"
	"dpsgd/accountant/pld"
	"dpsgd/accountant/rdp"
	"dpsgd/accountant/theorems"
)

// registry has a row for each accountant: its name and its constructor, with default options. An
// accountant that is added here is added to the contract test, too.
var registry = []struct {
	name string
	make func(accountant.Relation) (accountant.Accountant, error)
}{
	{"advanced", theorems.NewAdvanced},
	{"basic", theorems.NewBasic},
	{"exact", func(r accountant.Relation) (accountant.Accountant, error) { return pld.NewExact(r) }},
	{"optimal", theorems.NewOptimal},
	{"pld", func(r accountant.Relation) (accountant.Accountant, error) { return pld.New(r) }},
	{"rdp", func(r accountant.Relation) (accountant.Accountant, error) { return rdp.New(r, rdp.DefaultOrders()) }},
	{"zcdp", NewConcentrated},
}

// New returns the accountant of that name for relation r, with its default options. See Names. An
// unknown name is an error that matches accountant.ErrUnsupported.
func New(name string, r accountant.Relation) (accountant.Accountant, error) {
	for _, row := range registry {
		if row.name == name {
			return row.make(r)
		}
	}
	return nil, fmt.Errorf("%w: accountant is %.40q, want one of %q", accountant.ErrUnsupported, name, Names())
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
