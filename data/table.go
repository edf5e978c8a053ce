package data

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dpsgd/data/pictures"
	"dpsgd/data/vectors"
)

// loadTable reads <table>/train.csv and <table>/test.csv: comma-separated values as in RFC 4180,
// with the names of the columns in the first line. Columns are found by name; undeclared ones are
// passed over.
//
// Errors name the place of a mistake and never what stands there: neither the values of a record,
// nor the header, which may be a record whose header is missing.
func loadTable(spec Spec) (*Split, error) {
	if len(spec.Columns) < 1 || len(spec.Columns) > MaxColumns {
		return nil, fmt.Errorf("data: %w: %d columns declared, expected 1 to %d", ErrInvalid, len(spec.Columns), MaxColumns)
	}
	if spec.Label == "" && spec.Task() != Labels {
		return nil, fmt.Errorf("data: %w: no label column is declared, expected one", ErrInvalid)
	}
	if err := checkDistinct("column", slices.Concat(spec.Columns, spec.learntColumns())); err != nil {
		return nil, err
	}
	return splitOf(spec.OwnName(), func(part int) (*Rows, error) { return readTable(spec, parts[part]) })
}

// learntColumns returns the columns of a table with what is learnt.
func (s Spec) learntColumns() []string {
	if s.Task() == Labels {
		return s.Labels
	}
	return []string{s.Label}
}

// eachRecord calls visit with every record of part, "train" or "test", and returns their number. A
// record is valid until the next one.
func eachRecord(spec Spec, part string, visit func(t *tableReader, record []string) error) (int, error) {
	path := filepath.Join(spec.Table, part+".csv")
	file, err := OpenFile(path)
	if errors.Is(err, ErrMissing) {
		return 0, fmt.Errorf("data: %w: there is no file %s (expected train.csv and test.csv)", ErrMissing, path)
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n := 0
	reader, err := vectors.NewRecordReader(path, file)
	t := &tableReader{RecordReader: reader}
	if err == nil {
		err = t.findColumns(spec)
	}
	if err == nil {
		n, err = t.Each(func(record []string) error { return visit(t, record) })
	}
	if err != nil {
		return 0, fmt.Errorf("data: %w: %w", ErrInvalid, err)
	}
	return n, nil
}

// tableReader reads one file of a table.
type tableReader struct {
	*vectors.RecordReader
	columns []int // places in a record of the declared columns
	learnt  []int // places of what is learnt
}

// findColumns sets the places of the declared columns and of what is learnt, unless one is missing.
func (t *tableReader) findColumns(spec Spec) (err error) {
	if t.columns, err = t.FindAll(spec.Columns); err == nil {
		t.learnt, err = t.FindAll(spec.learntColumns())
	}
	return err
}

// readTable reads the part "train" or "test" of a table. It fails on a class that is not declared,
// and on a label that is neither 0 nor 1.
func readTable(spec Spec, part string) (*Rows, error) {
	var labels []uint8
	var values, targets []float32
	_, err := eachRecord(spec, part, func(t *tableReader, record []string) (err error) {
		if values, err = t.appendNumbers(values, record, t.columns); err != nil {
			return err
		}
		if spec.Task() != Class {
			targets, err = t.appendNumbers(targets, record, t.learnt)
			return cmp.Or(err, t.checkLabels(spec, targets))
		}
		class := slices.Index(spec.Classes, record[t.learnt[0]])
		if class < 0 {
			return t.Wrong(t.learnt[0], "found a label that is not declared", "one of the classes "+pictures.Quoted(spec.Classes))
		}
		labels = append(labels, uint8(class))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if spec.Task() != Class {
		return NewTargetRows(len(spec.Columns), spec.Learnt(), targets, values)
	}
	return NewRows(len(spec.Columns), spec.Classes, labels, values)
}

// appendNumbers appends the fields at these places of a record.
func (t *tableReader) appendNumbers(values []float32, record []string, places []int) ([]float32, error) {
	for _, place := range places {
		v, err := t.Number(record, place)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// checkLabels refuses labels of the last record, at the end of targets, other than 0 and 1.
func (t *tableReader) checkLabels(spec Spec, targets []float32) error {
	if spec.Task() != Labels || len(targets) == 0 {
		return nil
	}
	for i, v := range targets[len(targets)-len(spec.Labels):] {
		if v != 0 && v != 1 {
			return t.Wrong(t.learnt[i], "found a label that is neither 0 nor 1", "1 where the record has it, else 0")
		}
	}
	return nil
}
