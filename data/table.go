package data

import (
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
	if spec.Label == "" {
		return nil, fmt.Errorf("data: %w: no label column is declared, expected one", ErrInvalid)
	}
	if err := checkDistinct("column", append(slices.Clone(spec.Columns), spec.Label)); err != nil {
		return nil, err
	}
	return splitOf(filepath.Base(filepath.Clean(spec.Table)), func(part int) (*Rows, error) { return readTable(spec, parts[part]) })
}

// eachRecord calls visit with every record of part, "train" or "test", and returns their number. A
// record is valid until the next one.
func eachRecord(spec Spec, part string, visit func(t *tableReader, record []string) error) (int, error) {
	path := filepath.Join(spec.Table, part+".csv")
	file, err := openFile(path)
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
	label   int   // place of the label
}

// findColumns sets the places of the declared columns and of the label. It fails if one is missing.
func (t *tableReader) findColumns(spec Spec) (err error) {
	t.columns = make([]int, len(spec.Columns))
	for i, name := range spec.Columns {
		if t.columns[i], err = t.Find(name); err != nil {
			return err
		}
	}
	t.label, err = t.Find(spec.Label)
	return err
}

// readTable reads the part "train" or "test" of a table. It fails on a label that is not declared.
func readTable(spec Spec, part string) (*Rows, error) {
	var labels []uint8
	var values []float32
	_, err := eachRecord(spec, part, func(t *tableReader, record []string) error {
		for _, place := range t.columns {
			v, err := t.Number(record, place)
			if err != nil {
				return err
			}
			values = append(values, v)
		}
		class := slices.Index(spec.Classes, record[t.label])
		if class < 0 {
			return t.Wrong(t.label, "found a label that is not declared", "one of the classes "+pictures.Quoted(spec.Classes))
		}
		labels = append(labels, uint8(class))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewRows(len(spec.Columns), spec.Classes, labels, values)
}
