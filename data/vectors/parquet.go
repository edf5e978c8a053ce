package vectors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"dpsgd/internal/kernel"
)

// parquetRows reads the vectors of a Parquet file: from a column of numbers for each dimension, or
// from one column with a list of numbers.
type parquetRows struct {
	file     *parquet.File
	name     string // of the file
	declared Declared
	columns  []*parquetColumn // all of the file

	row     int       // number of rows read
	vectors []float32 // of the rows that were read last
	labels  []uint8
}

// openParquet checks f and sets p.rows. All columns but that of the labels are the vector.
func (p *Part) openParquet(f *os.File) (err error) {
	defer recovered(f.Name(), &err)
	file, size, err := parquetFile(f)
	if err != nil {
		return err
	}
	rows, err := p.findParquet(f.Name(), file, size)
	if err != nil {
		return err
	}
	p.rows, p.known = rows, int(file.NumRows())
	return p.checkNumbers(p.known)
}

// parquetFile opens f and checks the sizes that it states.
func parquetFile(f *os.File) (file *parquet.File, size int64, err error) {
	if size, err = sizeOf(f); err != nil {
		return nil, 0, err
	}
	if err := checkFooter(f, size); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	file, err = parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.FileReadMode(parquet.ReadModeSync))
	if err != nil {
		return nil, 0, damaged(f.Name(), err)
	}
	if err := checkPages(f, size, file.Metadata()); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return file, size, nil
}

// damaged returns an error that says in one line what the library found.
func damaged(name string, err error) error {
	return fmt.Errorf("%s: found a file that cannot be read as Parquet (%s), expected a whole one", name, strings.Join(strings.Fields(err.Error()), " "))
}

// recovered, when deferred, turns a panic into *err: the library panics at some damaged files.
func recovered(name string, err *error) {
	if r := recover(); r != nil {
		*err = damaged(name, fmt.Errorf("%.200v", r))
	}
}

// findParquet returns a reader of the columns, which it finds by the schema. It reads no values.
func (p *Part) findParquet(name string, file *parquet.File, size int64) (*parquetRows, error) {
	top := file.Root().Columns()
	var names []string
	for _, c := range top {
		names = append(names, c.Name())
	}
	label, err := p.labelColumn(name+": ", names, columns(len(names)))
	if err != nil {
		return nil, err
	}
	r := &parquetRows{file: file, name: name, declared: p.declared}
	// The columns as the file describes them: the library knows a number of 16 bits as two bytes.
	leaves := slices.DeleteFunc(slices.Clone(file.Metadata().Schema), func(e format.SchemaElement) bool { return e.NumChildren.V > 0 })
	for i, c := range top {
		column, err := newParquetColumn(name, c)
		if err == nil && i == label {
			err = column.setLabels(p.declared)
		} else if err == nil {
			err = column.setNumbers(leaves)
		}
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, column)
	}
	return r, cmp.Or(r.checkWidth(), r.checkRows(size))
}

// checkWidth refuses columns that are neither one column of lists nor the declared number of
// columns of numbers, apart from the column of labels.
func (r *parquetRows) checkWidth() error {
	numbers := len(r.columns)
	if slices.ContainsFunc(r.columns, func(c *parquetColumn) bool { return c.class != nil }) {
		numbers--
	}
	list := slices.IndexFunc(r.columns, func(c *parquetColumn) bool { return c.list })
	switch {
	case list >= 0 && numbers > 1:
		return fmt.Errorf("%s holds %s beside the labels, among them the lists of column %q, expected the lists alone or numbers alone", r.name, columns(numbers), r.columns[list].name)
	case list < 0 && numbers != r.declared.Width:
		return fmt.Errorf("%s holds %s beside the labels, expected the declared %d, or one of lists", r.name, columns(numbers), r.declared.Width)
	}
	return nil
}

// expansion bounds the bytes or numbers that a byte of a file may stand for. Vectors that tell
// something about examples need less; it is about the most that gzip reaches.
const expansion = 1024

// checkRows refuses a file without vectors, and one that claims more than expansion allows.
func (r *parquetRows) checkRows(size int64) error {
	switch rows := r.file.NumRows(); {
	case rows < 1:
		return fmt.Errorf("%s holds no vector, expected at least one", r.name)
	case rows > expansion*size/int64(r.declared.Width):
		return fmt.Errorf("%s claims %d vectors of %d numbers, expected at most %d numbers for each of its %d bytes", r.name, rows, r.declared.Width, expansion, size)
	}
	return nil
}

// read implements rows.
func (r *parquetRows) read(take func(vectors []float32, labels []uint8) error) (err error) {
	defer recovered(r.name, &err)
	for _, group := range r.file.RowGroups() {
		err := eachRows(r.name, group, min(rowsAtOnce(r.declared.Width), 1<<10), func(rows []parquet.Row) error {
			r.vectors, r.labels = r.vectors[:0], r.labels[:0]
			for _, row := range rows {
				if err := r.add(row); err != nil {
					return err
				}
			}
			return take(r.vectors, r.labels)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRows calls visit with the rows of a group of the file called name, some at once, which are
// valid until the next call.
func eachRows(name string, group parquet.RowGroup, atOnce int, visit func([]parquet.Row) error) error {
	if group.NumRows() == 0 {
		return nil // such groups may have no pages
	}
	rows := group.Rows()
	defer rows.Close()
	for buffer, read := make([]parquet.Row, atOnce), int64(0); ; {
		n, ended := rows.ReadRows(buffer)
		if ended != nil && ended != io.EOF {
			return damaged(name, ended)
		}
		if read += int64(n); read > group.NumRows() || ended != nil && read < group.NumRows() {
			return fmt.Errorf("%s holds a group of %d rows, expected the %d that it declares", name, read, group.NumRows())
		}
		if err := visit(buffer[:n]); err != nil || ended != nil {
			return err
		}
	}
}

// add appends the numbers and the label of a row, whose values stand column by column.
func (r *parquetRows) add(row parquet.Row) error {
	for i, c := range r.columns {
		n := 0
		for n < len(row) && row[n].Column() == i {
			n++
		}
		if n == 0 {
			return c.wrong("ends after %d rows", "as many as the file declares", r.row)
		}
		if err := r.addColumn(c, row[:n]); err != nil {
			return err
		}
		row = row[n:]
	}
	r.row++
	return nil
}

// addColumn appends a column's values in the next row: a label, a number or a list of numbers.
func (r *parquetRows) addColumn(c *parquetColumn, values []parquet.Value) error {
	wrong := func(found, expected string) error {
		return fmt.Errorf("%s: row %d, column %q: found %s, expected %s", r.name, r.row, c.name, found, expected)
	}
	switch null := slices.ContainsFunc(values, parquet.Value.IsNull); {
	case null && c.list:
		return wrong("no list, an empty one or one that lacks a number", "all of them")
	case null:
		return wrong("no value", "all of them")
	case c.list && len(values) != r.declared.Width:
		return wrong(fmt.Sprintf("a list of %d numbers", len(values)), fmt.Sprintf("the declared %d", r.declared.Width))
	case c.class != nil:
		label, known := c.class(values[0])
		if !known {
			return wrong("a label that has no class", c.expect)
		}
		r.labels = append(r.labels, label)
		return nil
	}
	for _, v := range values {
		x := c.number(v)
		if !(math.Abs(float64(x)) <= math.MaxFloat32) {
			return wrong("a number that is not finite as a 32-bit one", "a finite number")
		}
		r.vectors = append(r.vectors, x)
	}
	return nil
}

// parquetColumn is one column at the top of a file's schema, and how its values are read.
type parquetColumn struct {
	file, name string
	leaf       *parquet.Column
	list       bool

	number func(parquet.Value) float32       // of a column of numbers
	class  func(parquet.Value) (uint8, bool) // of a column of labels
	expect string                            // what labels look like, for messages
}

// newParquetColumn returns column c. It refuses one that has not one value or list for each row.
func newParquetColumn(file string, c *parquet.Column) (*parquetColumn, error) {
	column := &parquetColumn{file: file, name: c.Name(), leaf: c}
	for {
		if column.list = column.list || column.leaf.Repeated(); column.leaf.Leaf() {
			return column, nil
		}
		inside := column.leaf.Columns()
		if len(inside) != 1 {
			return nil, column.wrong("has %d fields inside", "a value or a list of values for each row", len(inside))
		}
		column.leaf = inside[0]
	}
}

// wrong returns an error that describes a mistake of the whole column.
func (c *parquetColumn) wrong(found, expected string, a ...any) error {
	return fmt.Errorf("%s: column %q "+found+", expected "+expected, append([]any{c.file, c.name}, a...)...)
}

// setNumbers sets c.number, which reads the column's numbers. It refuses a column of anything else.
func (c *parquetColumn) setNumbers(leaves []format.SchemaElement) error {
	switch kind := c.leaf.Type().Kind(); {
	case kind == parquet.Float:
		c.number = parquet.Value.Float
	case kind == parquet.Double:
		c.number = func(v parquet.Value) float32 { return float32(v.Double()) }
	case kind == parquet.FixedLenByteArray && c.isHalf(leaves):
		c.number = func(v parquet.Value) float32 {
			var wide [1]float32
			kernel.FromHalves(wide[:], []uint16{binary.LittleEndian.Uint16(v.ByteArray())})
			return wide[0]
		}
	default:
		whole, signed := wholeNumbers(c.leaf.Type())
		if whole == nil {
			return c.wrong("holds %v", "numbers (FLOAT16, FLOAT, DOUBLE or INT)", c.leaf.Type())
		}
		c.number = func(v parquet.Value) float32 {
			if signed {
				return float32(whole(v))
			}
			return float32(uint64(whole(v)))
		}
	}
	return nil
}

// wholeNumbers returns how an integer of a type is read, and whether it has a sign. Without a sign,
// numbers from 2^63 on come out negative. It returns nil for other types. Among them are dates,
// times and decimals, which are stored as integers, and truth values: of pages of version 2, which
// pack them in runs, parquet-go v0.32.0 reads others than pyarrow 26.0.1 wrote, without an error.
func wholeNumbers(t parquet.Type) (whole func(parquet.Value) int64, signed bool) {
	signed = true
	if logical := t.LogicalType(); logical != nil {
		integer, ok := logical.Value.(*format.IntType)
		if !ok {
			return nil, false
		}
		signed = integer.IsSigned
	}
	switch kind := t.Kind(); {
	case kind == parquet.Int32 && signed:
		whole = func(v parquet.Value) int64 { return int64(v.Int32()) }
	case kind == parquet.Int32:
		whole = func(v parquet.Value) int64 { return int64(v.Uint32()) }
	case kind == parquet.Int64:
		whole = parquet.Value.Int64
	}
	return whole, signed
}

func (c *parquetColumn) isHalf(leaves []format.SchemaElement) bool {
	i := c.leaf.Index()
	if i < 0 || i >= len(leaves) || c.leaf.Type().Length() != 2 {
		return false
	}
	_, half := leaves[i].LogicalType.Value.(*format.Float16Type)
	return half
}

// setLabels sets c.class, which reads the column's labels: integers or texts. It refuses all else.
func (c *parquetColumn) setLabels(d Declared) error {
	if c.list {
		return c.wrong("holds lists", "a label for each row")
	}
	c.expect = d.Names()
	whole, _ := wholeNumbers(c.leaf.Type())
	switch {
	case whole != nil:
		c.class = func(v parquet.Value) (uint8, bool) { return d.Class(strconv.FormatInt(whole(v), 10)) }
	case isText(c.leaf.Type()):
		c.class = func(v parquet.Value) (uint8, bool) { return d.Class(string(v.ByteArray())) }
	default:
		return c.wrong("holds %v", "integers or texts, as it is the column with the labels", c.leaf.Type())
	}
	return nil
}

// isText reports whether values of a type are texts: bytes that are not declared as something else.
func isText(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil {
		_, text := logical.Value.(*format.StringType)
		_, enum := logical.Value.(*format.EnumType)
		return (text || enum) && t.Kind() == parquet.ByteArray
	}
	return t.Kind() == parquet.ByteArray
}
