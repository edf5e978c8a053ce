package configs

import (
	"strings"

	"dpsgd/data"
	"dpsgd/internal/setting"
)

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
	var docs []string
	for _, d := range data.Datasets() {
		docs = append(docs, d.Name+" ("+d.Doc+")")
	}
	return strings.Join(docs, ", ")
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
