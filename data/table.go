package data

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// loadTable reads <table>/train.csv and <table>/test.csv: comma-separated values
// as in RFC 4180, with the names of the columns in the first line. Columns are
// found by name; those that are not declared are passed over.
//
// Errors name the place of a mistake and never what stands there: neither the values of a record,
// nor the header, which may be a record whose header is missing.
func loadTable(spec Spec) (*Split, error) {
	if err := checkColumns(spec); err != nil {
		return nil, err
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Table)), func(part int) (*Rows, error) { return readTable(spec, parts[part]) })
}

// CountRecords returns how many records the part "train" or "test" of a table has, without a look at
// them, after making sure that the part has the declared columns.
func CountRecords(spec Spec, part string) (int, error) {
	return eachRecord(spec, part, func(*tableReader, []string) error { return nil })
}

// eachRecord calls visit with every record of "train" or "test", valid until the next one, and returns
// how many there are.
func eachRecord(spec Spec, part string, visit func(t *tableReader, record []string) error) (int, error) {
	t, err := openTable(spec.Table, part)
	if err != nil {
		return 0, err
	}
	defer t.file.Close()
	if err := t.findColumns(spec); err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		record, err := t.next()
		if err == io.EOF && n == 0 {
			return 0, fmt.Errorf("data: %w: %s holds no record, expected at least one below the names of the columns", ErrInvalid, t.path)
		}
		if err == io.EOF {
			return n, nil
		}
		if err == nil {
			err = visit(t, record)
		}
		if err != nil {
			return 0, err
		}
	}
}

// checkColumns makes sure that what is declared can be found by name.
func checkColumns(spec Spec) error {
	if len(spec.Columns) < 1 || len(spec.Columns) > MaxColumns {
		return fmt.Errorf("data: %w: %d columns declared, expected 1 to %d", ErrInvalid, len(spec.Columns), MaxColumns)
	}
	if len(spec.Classes) < 2 || len(spec.Classes) > maxClasses {
		return fmt.Errorf("data: %w: %d classes declared, expected 2 to %d (the values of the label column)", ErrInvalid, len(spec.Classes), maxClasses)
	}
	if spec.Label == "" {
		return fmt.Errorf("data: %w: no label column is declared, expected one", ErrInvalid)
	}
	for _, names := range []struct {
		what string
		list []string
	}{{"column", append(slices.Clone(spec.Columns), spec.Label)}, {"class", spec.Classes}} {
		for i, name := range names.list {
			if slices.Contains(names.list[:i], name) {
				return fmt.Errorf("data: %w: %s %q is declared twice", ErrInvalid, names.what, name)
			}
		}
	}
	return nil
}

// tableReader reads one file of a table.
type tableReader struct {
	path    string
	file    io.Closer
	records *csv.Reader
	header  []string

	columns []int // where the declared columns stand, and the label
	label   int
}

func openTable(table, part string) (*tableReader, error) {
	path := filepath.Join(table, part+".csv")
	file, err := openFile(path)
	if errors.Is(err, ErrMissing) {
		return nil, fmt.Errorf("data: %w: there is no file %s (expected train.csv and test.csv)", ErrMissing, path)
	}
	if err != nil {
		return nil, err
	}
	t := &tableReader{path: path, file: file, records: csv.NewReader(file)}
	t.records.ReuseRecord, t.records.TrimLeadingSpace = true, true
	header, err := t.next()
	if err == io.EOF {
		err = fmt.Errorf("data: %w: %s is empty, expected the names of the columns in its first line", ErrInvalid, path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	t.header = slices.Clone(header)
	t.header[0] = strings.TrimPrefix(t.header[0], "\ufeff") // some programs mark UTF-8 so
	return t, nil
}

// next returns the fields of the next record, which are valid until the one after
// it is read, or io.EOF.
func (t *tableReader) next() ([]string, error) {
	record, err := t.records.Read()
	var broken *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		line, _ := t.records.FieldPos(0)
		return nil, t.wrong(line, 1, fmt.Sprintf("found %d fields", len(record)), fmt.Sprintf("%d, as in the first line", t.records.FieldsPerRecord))
	case errors.As(err, &broken):
		line, column := broken.Line, broken.Column
		if broken.StartLine != line { // a quote that is not closed is noticed where the file ends
			line, column = broken.StartLine, 1
		}
		return nil, t.wrong(line, column, fmt.Sprintf("found %v", broken.Err), "fields quoted as in RFC 4180")
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("data: %w: %s: %w", ErrInvalid, t.path, err)
	}
	return record, err
}

// wrong describes a mistake at a line and a column, in bytes, of the file.
func (t *tableReader) wrong(line, column int, found, expected string) error {
	return fmt.Errorf("data: %w: %s:%d:%d: %s, expected %s", ErrInvalid, t.path, line, column, found, expected)
}

// at is wrong for a field of the record that was read last.
func (t *tableReader) at(field int, found, expected string) error {
	line, column := t.records.FieldPos(field)
	return t.wrong(line, column, fmt.Sprintf("column %q: %s", t.header[field], found), expected)
}

// find returns the place of a column in the header.
func (t *tableReader) find(name string) (int, error) {
	place := slices.Index(t.header, name)
	if place < 0 {
		return 0, t.wrong(1, 1, fmt.Sprintf("found no column %q", name), "it among the names in the first line")
	}
	if slices.Contains(t.header[place+1:], name) {
		return 0, t.wrong(1, 1, fmt.Sprintf("found column %q twice", name), "it once")
	}
	return place, nil
}

// findColumns finds the declared columns and the label.
func (t *tableReader) findColumns(spec Spec) (err error) {
	t.columns = make([]int, len(spec.Columns))
	for i, name := range spec.Columns {
		if t.columns[i], err = t.find(name); err != nil {
			return err
		}
	}
	t.label, err = t.find(spec.Label)
	return err
}

// readTable reads train.csv or test.csv.
func readTable(spec Spec, part string) (*Rows, error) {
	var labels []uint8
	var values []float32
	_, err := eachRecord(spec, part, func(t *tableReader, record []string) error {
		for _, place := range t.columns {
			v, found := parseValue(record[place])
			if found != "" {
				return t.at(place, found, "a finite decimal number")
			}
			values = append(values, v)
		}
		class := slices.Index(spec.Classes, record[t.label])
		if class < 0 {
			return t.at(t.label, "found a label that is not declared", "one of the classes "+quoted(spec.Classes))
		}
		labels = append(labels, uint8(class))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewRows(len(spec.Columns), spec.Classes, labels, values)
}

// parseValue reads a number, or says in words what it found instead.
func parseValue(text string) (v float32, found string) {
	wide, err := strconv.ParseFloat(text, 32)
	switch {
	case text == "":
		return 0, "found an empty field"
	case errors.Is(err, strconv.ErrRange):
		return 0, "found a number that is too large for 32 bits"
	case err != nil || strings.ContainsAny(text, "xX_"): // 0x10 and 1_0 are numbers to the library
		return 0, "found text that is not a number"
	case math.IsNaN(wide) || math.IsInf(wide, 0):
		return 0, "found a number that is not finite"
	}
	return float32(wide), ""
}
