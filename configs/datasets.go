package configs

import (
	"strings"

	"dpsgd/data"
)

// datasetName is the choice of a data set that has a name: one of those that package data knows at
// the time of asking, because a program may register its own.
type datasetName struct{}

var _ format = datasetName{}

func (datasetName) choice() choice { return choice{data.Names()} }

func (f datasetName) decode(r *report, n *node, key string, into any) bool {
	return f.choice().decode(r, n, key, into)
}
func (f datasetName) encode(from any) string { return f.choice().encode(from) }
func (f datasetName) expected() string       { return f.choice().expected() }
func (f datasetName) schema() object         { return f.choice().schema() }

// datasetDocs lists the data sets that come with the program, with what they hold.
func datasetDocs() string {
	var docs []string
	for _, d := range data.Datasets() {
		docs = append(docs, d.Name+" ("+d.Doc+")")
	}
	return strings.Join(docs, ", ")
}

// datasetAlias returns the name of the data set that is also called so, or "".
func datasetAlias(found string) string {
	for _, d := range data.Datasets() {
		for _, alias := range d.Aliases {
			if squash(alias) == squash(found) {
				return d.Name
			}
		}
	}
	return ""
}

// byExamples is a value that looks one way with pictures, which its own methods take it for, and
// more freely with rows of numbers: whatever pictures may have rows may have too.
type byExamples struct {
	format
	rows format
}

var _ format = byExamples{}

// decode takes what either may have; formatIn is stricter, where the data set is known.
func (f byExamples) decode(r *report, n *node, key string, into any) bool {
	return f.rows.decode(&report{}, n, key, into) || f.format.decode(r, n, key, into)
}

func (f byExamples) expected() string {
	return f.format.expected() + "; with rows of numbers " + f.rows.expected()
}

func (f byExamples) schema() object { return f.rows.schema() }

// formatIn returns the format of the field in a configuration whose data set has been read.
func (f *field) formatIn(c *Config) format {
	either, ok := f.format.(byExamples)
	switch {
	case !ok:
		return f.format
	case c.Data.rows():
		return either.rows
	}
	return either.format
}

// rows reports whether the examples are rows of numbers and not pictures.
func (d Data) rows() bool {
	named := data.Find(d.Name)
	return d.Table != "" || named != nil && named.Shape.IsRow()
}

// constants returns the number of channels or columns, 0 where it is not known, and the word for one.
func (d Data) constants() (n int, of string) {
	named := data.Find(d.Name)
	switch {
	case named != nil:
		n = named.Shape.Channels
	case d.Table != "":
		n = len(d.Columns)
	default:
		n = d.Channels
	}
	if d.rows() {
		return n, "column"
	}
	return n, "channel"
}

// dataSchemas are the ways to say which data are used; pictures are held to what is stricter.
func dataSchemas() []object {
	pictures := object{}
	for i := range fields {
		if f, ok := fields[i].format.(byExamples); ok {
			_, key := fields[i].split()
			pictures = append(pictures, member{key, f.format.schema()})
		}
	}
	name := object{{"required", []string{"name"}}}
	if !anyRows() {
		name = append(name, member{"properties", pictures})
	}
	return []object{
		name,
		{{"required", []string{"folder", "classes", "size", "channels"}}, {"properties", pictures}},
		{{"required", []string{"table", "columns", "label", "classes"}}},
	}
}

func anyRows() bool {
	for _, d := range data.Datasets() {
		if d.Shape.IsRow() {
			return true
		}
	}
	return false
}
