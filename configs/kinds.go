package configs

import (
	"slices"
	"strings"

	"dpsgd/data"
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
	return strings.Join(texts(kinds, func(k setting.Kind[T]) string { return k.Name + " (" + k.Doc + ")" }), ", ")
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

// datasetName is the format of a data set's name. It asks package data for the names at every call,
// because a program may register data sets of its own.
type datasetName struct{}

func (datasetName) Names() []string        { return data.Names() }
func (datasetName) Encode(from any) string { return setting.Choice{}.Encode(from) }
func (datasetName) Expected() string       { return setting.Choice(data.Names()).Expected() }
func (datasetName) Schema() setting.Object { return setting.Choice(data.Names()).Schema() }

func (datasetName) Parse(text string, quoted bool, into any) bool {
	return setting.Choice(data.Names()).Parse(text, quoted, into)
}

// datasetDocs returns the names of the registered data sets, each with its description.
func datasetDocs() string {
	return strings.Join(texts(data.Datasets(), func(d *data.Dataset) string { return d.Name + " (" + d.Doc + ")" }), ", ")
}

// byExamples is the format of a field with one format for pictures (composite) and a less strict
// one for rows of numbers (rows).
type byExamples struct {
	composite
	rows composite
}

// decode stores a value that either format accepts. formatIn returns the format that then holds.
func (f byExamples) decode(r *report, n *node, key string, into any) bool {
	return f.rows.decode(&report{}, n, key, into) || f.composite.decode(r, n, key, into)
}

func (f byExamples) Expected() string {
	return f.composite.Expected() + "; with rows of numbers " + f.rows.Expected()
}

func (f byExamples) Schema() setting.Object { return f.rows.Schema() }

// formatIn returns the field's format for the data of c, whose name must be decoded before.
func (f *field) formatIn(c *Config) setting.Format {
	either, ok := f.format.(byExamples)
	switch {
	case !ok:
		return f.format
	case c.Data.rows():
		return either.rows
	}
	return either.composite
}

// rows reports whether examples are rows of numbers, not pictures; false for an unknown name.
func (d Data) rows() bool {
	return d.Table != "" || d.Vectors != "" || d.Text != "" || data.Find(d.Name) != nil && !d.Shape().IsPicture()
}

// dataSchemas returns the schemas of the section data, one for each way to name the data. Those of
// pictures have the stricter bounds, where bounds differ between pictures and rows.
func dataSchemas() []object {
	pictures := object{}
	for _, f := range fields {
		if either, ok := f.format.(byExamples); ok {
			_, key := f.split()
			pictures = append(pictures, key, either.composite.Schema())
		}
	}
	named := map[bool][]string{} // of rows, or of pictures
	for _, d := range data.Datasets() {
		named[!d.Shape.IsPicture()] = append(named[!d.Shape.IsPicture()], d.Name)
	}
	names := []object{{"required", []string{"name"}, "properties", pictures}}
	if named[true] != nil {
		of := func(names []string) object { return object{"name", object{"enum", names}} }
		names = []object{{"required", []string{"name"}, "properties", append(of(named[false]), pictures...)}, {"required", []string{"name"}, "properties", of(named[true])}}
	}
	return append(names,
		object{"required", []string{"folder", "classes", "size", "channels"}, "properties", pictures},
		object{"required", []string{"table", "columns", "label", "classes"}},
		object{"required", []string{"table", "columns", "labels"}},
		object{"required", []string{"table", "columns", "label", "bounds"}},
		object{"required", []string{"vectors", "width", "classes"}},
		object{"required", []string{"text", "length", "classes"}})
}
