package vectors

import (
	"fmt"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// ParquetTexts reads the column of texts, and that of their classes, of a Parquet file.
type ParquetTexts struct {
	Header []string // the names of the columns at the top of the schema

	file *parquet.File
	name string // of the file
}

// OpenParquetTexts checks f and returns a reader of it.
func OpenParquetTexts(f *os.File) (t *ParquetTexts, err error) {
	defer recovered(f.Name(), &err)
	file, size, err := parquetFile(f)
	if err != nil {
		return nil, err
	}
	if rows := file.NumRows(); rows < 1 || rows > expansion*size {
		return nil, fmt.Errorf("%s claims %d texts, expected 1 to %d for each of its %d bytes", f.Name(), rows, expansion, size)
	}
	t = &ParquetTexts{file: file, name: f.Name()}
	for _, c := range file.Root().Columns() {
		t.Header = append(t.Header, c.Name())
	}
	return t, nil
}

// Each calls visit with the text of every row and the class in the column label, and returns their
// number. Where label is below 0, every class is 0. Columns are places in Header.
func (t *ParquetTexts) Each(text, label int, d Declared, visit func(text string, class uint8) error) (n int, err error) {
	defer recovered(t.name, &err)
	texts, classes, err := t.columns(text, label, d)
	if err != nil {
		return 0, err
	}
	for _, group := range t.file.RowGroups() {
		err := eachRows(t.name, group, 256, func(rows []parquet.Row) error {
			for _, row := range rows {
				x, y := valueOf(row, texts), valueOf(row, classes)
				class, known := uint8(0), !x.IsNull() && !y.IsNull()
				if known {
					class, known = classes.class(y)
				}
				if !known {
					return fmt.Errorf("%s: row %d: found no text, or a label that has no class, expected a text and %s", t.name, n, classes.expect)
				}
				if err := visit(string(x.ByteArray()), class); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// columns returns the columns of the texts and of the classes. Where label is below 0, that of the
// texts stands for the classes too.
func (t *ParquetTexts) columns(text, label int, d Declared) (texts, classes *parquetColumn, err error) {
	top := t.file.Root().Columns()
	if texts, err = newParquetColumn(t.name, top[text]); err != nil {
		return nil, nil, err
	}
	if texts.list || !isText(texts.leaf.Type()) {
		return nil, nil, texts.wrong("holds %v", "a text for each row", texts.leaf.Type())
	}
	if label < 0 {
		texts.class, texts.expect = func(parquet.Value) (uint8, bool) { return 0, true }, "nothing else"
		return texts, texts, nil
	}
	if classes, err = newParquetColumn(t.name, top[label]); err == nil {
		err = classes.setLabels(d)
	}
	return texts, classes, err
}

// valueOf returns the value of a column in a row; null where there is none.
func valueOf(row parquet.Row, c *parquetColumn) parquet.Value {
	if i := slices.IndexFunc(row, func(v parquet.Value) bool { return v.Column() == c.leaf.Index() }); i >= 0 {
		return row[i]
	}
	return parquet.Value{}
}
