package vectors

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// RecordReader reads the records of one file of comma-separated values.
type RecordReader struct {
	Header []string // the names of the columns, from the first line

	path    string // for messages
	records *csv.Reader
}

// WithoutMark returns a reader of text without the mark by which some programs begin UTF-8.
func WithoutMark(file io.Reader) *bufio.Reader {
	r := bufio.NewReader(file)
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		r.Discard(3)
	}
	return r
}

// NewRecordReader returns a reader of file, whose first line it reads. It fails without one.
func NewRecordReader(path string, file io.Reader) (*RecordReader, error) {
	in := WithoutMark(file)
	r := &RecordReader{path: path, records: csv.NewReader(in)}
	r.records.ReuseRecord, r.records.TrimLeadingSpace = true, true
	line, _ := in.Peek(in.Size())
	first, _, _ := strings.Cut(string(line), "\n")
	if strings.HasPrefix(first, "\xff\xfe") || strings.HasPrefix(first, "\xfe\xff") || strings.ContainsRune(first, 0) {
		return nil, r.WrongHeader("found text in UTF-16", "UTF-8, which spreadsheets call \"CSV UTF-8\" (.xlsx and .gz are no text)")
	}
	header, err := r.Next()
	for _, s := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}, {"|", "vertical bars"}} {
		if len(header) < 2 && strings.Contains(first, s[0]) && !strings.Contains(first, ",") {
			return nil, r.WrongHeader("found names separated by "+s[1], "commas")
		}
	}
	if err == io.EOF {
		err = fmt.Errorf("%s is empty, expected the names of the columns in its first line", path)
	}
	if err != nil {
		return nil, err
	}
	r.Header = slices.Clone(header)
	return r, nil
}

// KeepSpaces has fields of the records that follow begin with the spaces that stand there.
func (r *RecordReader) KeepSpaces() { r.records.TrimLeadingSpace = false }

// Next returns the fields of the next record, which are valid until the next call, or io.EOF after
// the last record.
func (r *RecordReader) Next() ([]string, error) {
	record, err := r.records.Read()
	var broken *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		line, _ := r.records.FieldPos(0)
		return nil, r.wrong(line, 1, fmt.Sprintf("found %d fields", len(record)), fmt.Sprintf("%d, as in the first line", r.records.FieldsPerRecord))
	case errors.As(err, &broken):
		line, column := broken.Line, broken.Column
		if broken.StartLine != line { // a quote that is not closed is noticed where the file ends
			line, column = broken.StartLine, 1
		}
		return nil, r.wrong(line, column, fmt.Sprintf("found %v", broken.Err), "fields quoted as in RFC 4180")
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	return record, err
}

// Each calls visit with every record that is left, valid until the next one, and returns their
// number. It fails if there is none.
func (r *RecordReader) Each(visit func(record []string) error) (int, error) {
	for n := 0; ; n++ {
		record, err := r.Next()
		if err == io.EOF && n == 0 {
			return 0, fmt.Errorf("%s holds no record, expected at least one below the names of the columns", r.path)
		}
		if err == io.EOF {
			return n, nil
		}
		if err == nil {
			err = visit(record)
		}
		if err != nil {
			return 0, err
		}
	}
}

// wrong returns an error that describes a mistake at a line and a column, in bytes, of the file.
func (r *RecordReader) wrong(line, column int, found, expected string) error {
	return fmt.Errorf("%s:%d:%d: %s, expected %s", r.path, line, column, found, expected)
}

// WrongHeader returns an error that describes a mistake in the first line.
func (r *RecordReader) WrongHeader(found, expected string) error {
	return r.wrong(1, 1, found, expected)
}

// Wrong returns an error that describes a mistake in a field of the record that was read last.
func (r *RecordReader) Wrong(field int, found, expected string) error {
	line, column := r.records.FieldPos(field)
	return r.wrong(line, column, fmt.Sprintf("column %q: %s", r.Header[field], found), expected)
}

// PlaceOf returns the place of a name among others, and an error if it is not there just once: that
// begins with where, and says what the name is and among what it was expected.
func PlaceOf(where, what, name string, names []string, among string) (int, error) {
	place := slices.Index(names, name)
	if place < 0 {
		return 0, fmt.Errorf("%sfound no %s %q, expected it among the %s", where, what, name, among)
	}
	if slices.Contains(names[place+1:], name) {
		return 0, fmt.Errorf("%sfound %s %q twice, expected it once", where, what, name)
	}
	return place, nil
}

// Find returns the place of a column in the header; see [PlaceOf].
func (r *RecordReader) Find(name string) (int, error) {
	return PlaceOf(r.path+":1:1: ", "column", name, r.Header, "names in the first line")
}

// FindAll returns the places of columns; see Find.
func (r *RecordReader) FindAll(names []string) (places []int, err error) {
	places = make([]int, len(names))
	for i, name := range names {
		if places[i], err = r.Find(name); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// Number returns the value of a field, by its place, of the record read last. It refuses any text
// but a decimal number that is finite in 32 bits.
func (r *RecordReader) Number(record []string, field int) (float32, error) {
	text, found := record[field], ""
	wide, err := strconv.ParseFloat(text, 32)
	switch {
	case text == "":
		found = "found an empty field"
	case errors.Is(err, strconv.ErrRange):
		found = "found a number that is too large for 32 bits"
	case err != nil || strings.ContainsAny(text, "xX_"): // 0x10 and 1_0 are numbers to the library
		found = "found text that is not a number"
	case math.IsNaN(wide) || math.IsInf(wide, 0):
		found = "found a number that is not finite"
	default:
		return float32(wide), nil
	}
	return 0, r.Wrong(field, found, "a finite decimal number such as 1234.5")
}

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
	if rows.label, err = p.labelColumn(f.Name()+":1:1: ", reader.Header, "names in the first line"); err != nil {
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
