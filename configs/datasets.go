package configs

import (
	"strings"

	"dpsgd/data"
	"dpsgd/internal/setting"
)

// datasetName is the choice of a data set that has a name: one of those that package data knows at
// the time of asking, because a program may register its own.
type datasetName struct{}

var _ setting.Scalar = datasetName{}

func (datasetName) Names() []string { return data.Names() }

func (f datasetName) Parse(text string, quoted bool, into any) bool {
	return setting.Choice(f.Names()).Parse(text, quoted, into)
}

func (datasetName) Encode(from any) string   { return setting.Choice{}.Encode(from) }
func (f datasetName) Expected() string       { return setting.Choice(f.Names()).Expected() }
func (f datasetName) Schema() setting.Object { return setting.Choice(f.Names()).Schema() }

// datasetDocs lists the data sets that come with the program, with what they hold.
func datasetDocs() string {
	var docs []string
	for _, d := range data.Datasets() {
		docs = append(docs, d.Name+" ("+d.Doc+")")
	}
	return strings.Join(docs, ", ")
}

// byExamples is a value that looks one way with pictures, which its own methods take it for, and
// more freely with rows of numbers: whatever pictures may have rows may have too.
type byExamples struct {
	composite
	rows composite
}

var _ composite = byExamples{}

// decode takes what either may have; formatIn is stricter, where the data set is known.
func (f byExamples) decode(r *report, n *node, key string, into any) bool {
	return f.rows.decode(&report{}, n, key, into) || f.composite.decode(r, n, key, into)
}

// Expected implements [setting.Format].
func (f byExamples) Expected() string {
	return f.composite.Expected() + "; with rows of numbers " + f.rows.Expected()
}

// Schema implements [setting.Format].
func (f byExamples) Schema() setting.Object { return f.rows.Schema() }

// formatIn returns the format of the field in a configuration whose data set has been read.
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

// rows reports whether the examples are rows of numbers and not pictures.
func (d Data) rows() bool {
	return (d.Table != "" || d.Vectors != "" || data.Find(d.Name) != nil) && d.Shape().IsRow()
}

// constants returns the number of channels or columns, 0 where it is not known, and the word for
// one.
func (d Data) constants() (n int, of string) {
	if d.Vectors == "" { // which have none
		n = d.Shape().Channels
	}
	if d.rows() {
		return n, "column"
	}
	return n, "channel"
}

// dataSchemas returns the schemas of the section data, one for each way to name the data. Keys whose
// bounds differ between pictures and rows have the stricter bounds of pictures.
func dataSchemas() []object {
	pictures := object{}
	for _, f := range fields {
		if either, ok := f.format.(byExamples); ok {
			_, key := f.split()
			pictures = append(pictures, key, either.composite.Schema())
		}
	}
	var named [2][]string // of pictures, of rows
	for _, d := range data.Datasets() {
		if d.Shape.IsRow() {
			named[1] = append(named[1], d.Name)
		} else {
			named[0] = append(named[0], d.Name)
		}
	}
	names := []object{{"required", []string{"name"}, "properties", pictures}}
	if named[1] != nil {
		of := func(names []string) object { return object{"name", object{"enum", names}} }
		names = []object{{"required", []string{"name"}, "properties", append(of(named[0]), pictures...)}, {"required", []string{"name"}, "properties", of(named[1])}}
	}
	return append(names, []object{
		{"required", []string{"folder", "classes", "size", "channels"}, "properties", pictures},
		{"required", []string{"table", "columns", "label", "classes"}},
		{"required", []string{"vectors", "width", "classes"}},
	}...)
}
