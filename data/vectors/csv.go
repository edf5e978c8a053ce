package vectors

import (
	"os"
	"strconv"
	"strings"
)

// csvRows reads the vectors of a file of comma-separated values, a line for each.
type csvRows struct {
	*RecordReader
	declared Declared
	label    int // the column with the labels; -1 is none
}

// openCSV reads the header of f and sets p.rows. All columns but that of the labels are the vector.
func (p *Part) openCSV(f *os.File) error {
	reader, err := NewRecordReader(f.Name(), f)
	if err != nil {
		return err
	}
	rows := &csvRows{RecordReader: reader, declared: p.declared}
	if rows.label, err = p.labelColumn(reader.Header, reader.Find); err != nil {
		return err
	}
	p.rows = rows
	return rows.checkHeader()
}

// checkHeader refuses a first line of another number of columns than declared, or of numbers.
func (r *csvRows) checkHeader() error {
	width := len(r.Header)
	if r.label >= 0 {
		width--
	}
	if width != r.declared.Width {
		return r.WrongHeader("found "+columns(width)+" beside the labels", "the declared "+strconv.Itoa(r.declared.Width))
	}
	last := -1.0
	for i, name := range r.Header {
		number, err := strconv.ParseFloat(name, 64)
		if err != nil || i == r.label {
			continue
		}
		// Whole numbers that rise are names that pandas gives; others are a vector that would be
		// passed over, and that errors about columns would show.
		if !(number > last) || strings.ContainsAny(name, ".eE") {
			return r.WrongHeader("found a line of numbers", "the names of the columns")
		}
		last = number
	}
	return nil
}

func columns(n int) string {
	if n == 1 {
		return "1 column"
	}
	return strconv.Itoa(n) + " columns"
}

// read implements rows.
func (r *csvRows) read(take func(vectors []float32, labels []uint8) error) error {
	var vector []float32
	var label []uint8
	_, err := r.Each(func(record []string) error {
		vector, label = vector[:0], label[:0]
		for i, text := range record {
			if i == r.label {
				class, known := r.declared.Class(text)
				if !known {
					return r.Wrong(i, "found a label that has no class", r.declared.Names())
				}
				label = append(label, class)
				continue
			}
			v, err := r.Number(record, i)
			if err != nil {
				return err
			}
			vector = append(vector, v)
		}
		return take(vector, label)
	})
	return err
}
