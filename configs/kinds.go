package configs

import (
	"slices"
	"strings"

	"dpsgd/internal/setting"
	"dpsgd/model"
)

// layerKinds is every layer that a network can have.
var layerKinds = model.Kinds()

// named is a thing that is chosen by name.
type named interface{ Name() string }

// kindOf is the format of a kind's name. Parse stores a new value of the kind in a *T.
type kindOf[T named] struct{ setting.Kinds[T] }

func (f kindOf[T]) Parse(text string, _ bool, into any) bool {
	kind, ok := f.Named(text)
	if ok {
		*into.(*T) = kind.New()
	}
	return ok
}

func (f kindOf[T]) Encode(from any) string                       { return (*from.(*T)).Name() }
func (f kindOf[T]) Expected() string                             { return setting.Choice(f.Names()).Expected() }
func (f kindOf[T]) Schema() object                               { return setting.Choice(f.Names()).Schema() }
func (f kindOf[T]) eachName(do func(name string, also []string)) { eachName(f.Kinds, do) }

// eachName calls do for every kind and for every argument of the kinds, with its name and with the
// names that other libraries give it.
func eachName[T any](kinds setting.Kinds[T], do func(name string, also []string)) {
	for _, k := range kinds {
		do(k.Name, k.Also)
		for _, a := range setting.Arguments(k.New()) {
			do(a.Name, a.Also)
		}
	}
}

// kindRow returns the field of the key (path) that chooses a kind.
func kindRow[T named](path string, kinds setting.Kinds[T], only *condition, doc string) []*field {
	return row(path, kindOf[T]{kinds}, only, doc)
}

// argumentRows returns the fields for the arguments of all kinds, in the section of the key
// (choice) that chooses a kind. Kinds with an argument of the same name share its key, which has a
// meaning only with these kinds.
func argumentRows[T named](choice string, kinds setting.Kinds[T]) []*field {
	arguments, owners := union(kinds)
	section, at := choice[:strings.LastIndex(choice, ".")], inConfig(choice)
	chosen := func(c *Config) T { return *at(c).(*T) }
	out := make([]*field, len(arguments))
	for i, a := range arguments {
		owner, _ := kinds.Named(owners[a.Name][0])
		out[i] = &field{path: section + "." + a.Name, format: a.Format, doc: a.Doc, at: func(c *Config) any {
			own := setting.Find(setting.Arguments(chosen(c)), a.Name)
			if own == nil { // the value means nothing, but is read all the same
				own = setting.Find(setting.Arguments(owner.New()), a.Name)
			}
			return own.Value
		}}
		if len(owners[a.Name]) < len(kinds) {
			out[i].only = &condition{choice, setting.Or(owners[a.Name]), func(c *Config) bool {
				return slices.Contains(owners[a.Name], chosen(c).Name())
			}}
		}
	}
	return out
}

// docs returns the names of the kinds, each with its description in parentheses.
func docs[T any](kinds setting.Kinds[T]) string {
	lines := make([]string, len(kinds))
	for i, k := range kinds {
		lines[i] = k.Name + " (" + k.Doc + ")"
	}
	return strings.Join(lines, ", ")
}

// union returns the arguments of all kinds, each name once, and for each name the names of the
// kinds that have it. Each kind's arguments keep their order, and a kind added at the end reorders
// none before it: files are written in this order, and a run's plan is known by a hash of its file.
func union[T any](kinds setting.Kinds[T]) (all []setting.Argument, owners map[string][]string) {
	owners = map[string][]string{}
	for _, k := range kinds {
		own := setting.Arguments(k.New())
		at := len(all) // where the next one from behind goes
		for _, a := range slices.Backward(own) {
			owners[a.Name] = append(owners[a.Name], k.Name)
			if i := slices.IndexFunc(all, func(b setting.Argument) bool { return a.Name == b.Name }); i >= 0 {
				at = i
				continue
			}
			all = slices.Insert(all, at, a)
		}
	}
	return all, owners
}
