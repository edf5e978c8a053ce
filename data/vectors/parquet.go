package vectors

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"dpsgd/internal/kernel"
)

// parquetRows are the vectors of a Parquet file: a column of numbers for each dimension, or one
// column with a list of them.
type parquetRows struct {
	name     string // of the file
	declared Declared
	rows     int
	vector   []*parquetColumn
	label    *parquetColumn // nil where labels stand elsewhere
}

// openParquet finds the columns. All but the one with the labels are the vector.
func (p *Part) openParquet(f *os.File) (err error) {
	defer recovered(f.Name(), &err)
	size, err := sizeOf(f)
	if err != nil {
		return err
	}
	if err := checkFooter(f, size); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	file, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.FileReadMode(parquet.ReadModeSync))
	if err != nil {
		return damaged(f.Name(), err)
	}
	rows, err := p.findParquet(f.Name(), file)
	if err != nil {
		return err
	}
	if err := rows.checkRows(file.NumRows(), size); err != nil {
		return err
	}
	if err := checkPages(f, size, file.Metadata()); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	p.rows, p.known = rows, rows.rows
	return p.checkNumbers(p.known)
}

// damaged says in one line what the library found.
func damaged(name string, err error) error {
	return fmt.Errorf("%s: found a file that cannot be read as Parquet (%s), expected a whole one", name, strings.Join(strings.Fields(err.Error()), " "))
}

// recovered makes an error of a panic: the library has some for damaged files.
func recovered(name string, err *error) {
	if r := recover(); r != nil {
		*err = damaged(name, fmt.Errorf("%.200v", r))
	}
}

// findParquet finds the columns by the schema, without a look at what they hold.
func (p *Part) findParquet(name string, file *parquet.File) (*parquetRows, error) {
	top := file.Root().Columns()
	var names []string
	for _, c := range top {
		names = append(names, c.Name())
	}
	label, err := p.labelColumn(names, func(label string) (int, error) {
		if place := slices.Index(names, label); place >= 0 {
			return place, nil
		}
		return 0, fmt.Errorf("%s: found no column %q, expected it among the %s", name, label, columns(len(names)))
	})
	if err != nil {
		return nil, err
	}
	rows, leaves := &parquetRows{name: name, declared: p.declared}, leavesOf(file)
	for i, c := range top {
		column, err := newParquetColumn(name, c)
		if err == nil && i == label {
			rows.label, err = column, column.setLabels(p.declared)
		} else if err == nil {
			rows.vector, err = append(rows.vector, column), column.setNumbers(leaves)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, rows.checkWidth()
}

// checkWidth makes sure that the columns are one list, or as many numbers as are declared.
func (r *parquetRows) checkWidth() error {
	lists := slices.IndexFunc(r.vector, func(c *parquetColumn) bool { return c.list })
	switch {
	case lists >= 0 && len(r.vector) > 1:
		return fmt.Errorf("%s holds %s beside the labels, among them the lists of column %q, expected the lists alone or numbers alone", r.name, columns(len(r.vector)), r.vector[lists].name)
	case lists < 0 && len(r.vector) != r.declared.Width:
		return fmt.Errorf("%s holds %s beside the labels, expected the declared %d, or one of lists", r.name, columns(len(r.vector)), r.declared.Width)
	}
	return nil
}

// expansion bounds the bytes or numbers that a byte of a file may stand for: more than any vectors
// that tell something about examples, and about the most that gzip packs.
const expansion = 1024

// checkRows makes sure that there are vectors, and not many more than the file has room for.
func (r *parquetRows) checkRows(rows, size int64) error {
	switch {
	case rows < 1:
		return fmt.Errorf("%s holds no vector, expected at least one", r.name)
	case rows > expansion*size/int64(r.declared.Width):
		return fmt.Errorf("%s claims %d vectors of %d numbers, expected at most %d numbers for each of its %d bytes", r.name, rows, r.declared.Width, expansion, size)
	}
	r.rows = int(rows)
	return nil
}

// count implements rows.
func (r *parquetRows) count() (int, error) { return r.rows, nil }

// read implements rows.
func (r *parquetRows) read(take func(vectors []float32, labels []uint8) error) (err error) {
	defer recovered(r.name, &err)
	defer r.close()
	width, atOnce := r.declared.Width, rowsAtOnce(r.declared.Width)
	x := make([]float32, min(atOnce, r.rows)*width)
	var labels []uint8
	for first := 0; first < r.rows; first += atOnce {
		n := min(atOnce, r.rows-first)
		for j, c := range r.vector {
			if err := r.readColumn(x[j:n*width], c, n); err != nil {
				return err
			}
		}
		labels = labels[:0]
		for range n {
			if r.label == nil {
				break
			}
			label, err := r.label.nextLabel()
			if err != nil {
				return err
			}
			labels = append(labels, label)
		}
		if err := take(x[:n*width], labels); err != nil {
			return err
		}
	}
	return r.checkEnds()
}

// readColumn reads n rows of a column to dst, which begins where the column does: one number in
// each vector, or all of it.
func (r *parquetRows) readColumn(dst []float32, c *parquetColumn, n int) (err error) {
	for i := range n {
		at := i * r.declared.Width
		if c.list {
			err = c.nextList(dst[at : at+r.declared.Width])
		} else {
			dst[at], err = c.nextNumber()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all are the columns that are read.
func (r *parquetRows) all() []*parquetColumn {
	if r.label == nil {
		return r.vector
	}
	return append(slices.Clone(r.vector), r.label)
}

// checkEnds makes sure that no column goes on.
func (r *parquetRows) checkEnds() error {
	for _, c := range r.all() {
		if _, err := c.peek(); err == nil {
			return fmt.Errorf("%s: column %q goes on after row %d, expected its end", r.name, c.name, c.row-1)
		} else if err != io.EOF {
			return err
		}
	}
	return nil
}

func (r *parquetRows) close() {
	for _, c := range r.all() {
		c.close()
	}
}

// parquetColumn is one column of a file, from its first row to its last.
type parquetColumn struct {
	file, name string
	leaf       *parquet.Column
	list       bool

	number func(parquet.Value) float32       // of a column of numbers
	class  func(parquet.Value) (uint8, bool) // of a column of labels
	expect string                            // what labels look like, for messages

	row    int // the next one
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	rest   []parquet.Value // of buffer, not taken yet
	buffer [64]parquet.Value
}

// newParquetColumn looks at the structure of a column: a value for each row, or a list.
func newParquetColumn(file string, c *parquet.Column) (*parquetColumn, error) {
	column := &parquetColumn{file: file, name: c.Name(), leaf: c}
	for !column.leaf.Leaf() {
		inside := column.leaf.Columns()
		if len(inside) != 1 {
			return nil, column.wrong("has %d fields inside", "a value or a list of values for each row", len(inside))
		}
		column.list = column.list || column.leaf.Repeated()
		column.leaf = inside[0]
	}
	column.list = column.list || column.leaf.Repeated()
	return column, nil
}

// wrong describes a mistake of the whole column.
func (c *parquetColumn) wrong(found, expected string, a ...any) error {
	return fmt.Errorf("%s: column %q "+found+", expected "+expected, append([]any{c.file, c.name}, a...)...)
}

// wrongRow describes a mistake in the next row.
func (c *parquetColumn) wrongRow(found, expected string) error {
	return fmt.Errorf("%s: row %d, column %q: found %s, expected %s", c.file, c.row, c.name, found, expected)
}

// setNumbers makes sure that the column holds numbers.
func (c *parquetColumn) setNumbers(leaves []format.SchemaElement) error {
	switch kind := c.leaf.Type().Kind(); {
	case kind == parquet.Float:
		c.number = parquet.Value.Float
	case kind == parquet.Double:
		c.number = func(v parquet.Value) float32 { return float32(v.Double()) }
	case kind == parquet.FixedLenByteArray && c.isHalf(leaves):
		c.number = func(v parquet.Value) float32 {
			var wide [1]float32
			b := v.ByteArray()
			kernel.FromHalves(wide[:], []uint16{uint16(b[0]) | uint16(b[1])<<8})
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

// wholeNumbers returns how an integer of a type is read; one of 64 bits without a sign that needs them
// all comes out negative. It is nil for other types, among them dates, times and decimals, which are
// stored as integers, and truth values: of a page of version 2, where they are packed in runs,
// parquet-go v0.32.0 reads other ones than pyarrow 26.0.1 has written, without an error.
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

// leavesOf are the columns as the file describes them: the library itself knows a number of 16 bits
// as two bytes.
func leavesOf(file *parquet.File) []format.SchemaElement {
	return slices.DeleteFunc(slices.Clone(file.Metadata().Schema), func(e format.SchemaElement) bool { return e.NumChildren.V > 0 })
}

func (c *parquetColumn) isHalf(leaves []format.SchemaElement) bool {
	i := c.leaf.Index()
	if i < 0 || i >= len(leaves) || c.leaf.Type().Length() != 2 {
		return false
	}
	_, half := leaves[i].LogicalType.Value.(*format.Float16Type)
	return half
}

// setLabels makes sure that the column holds integers or texts, one for each row.
func (c *parquetColumn) setLabels(d Declared) error {
	if c.list {
		return c.wrong("holds lists", "a label for each row")
	}
	index := func(i int64) (uint8, bool) { return uint8(i), i >= 0 && i < int64(len(d.Classes)) }
	c.expect = d.indices()
	whole, _ := wholeNumbers(c.leaf.Type())
	switch {
	case whole != nil:
		c.class = func(v parquet.Value) (uint8, bool) { return index(whole(v)) }
	case isText(c.leaf.Type()):
		c.class, c.expect = func(v parquet.Value) (uint8, bool) { return d.class(string(v.ByteArray())) }, d.names()
	default:
		return c.wrong("holds %v", "integers or texts, as it is the column with the labels", c.leaf.Type())
	}
	return nil
}

// isText reports whether a type is texts: bytes, but for the ones that stand for something else.
func isText(t parquet.Type) bool {
	if logical := t.LogicalType(); logical != nil {
		switch logical.Value.(type) {
		case *format.StringType, *format.EnumType:
		default:
			return false
		}
	}
	return t.Kind() == parquet.ByteArray
}

// nextNumber reads the number of the next row.
func (c *parquetColumn) nextNumber() (float32, error) {
	v, err := c.next()
	if err != nil {
		return 0, err
	}
	x, err := c.finite(v)
	c.row++
	return x, err
}

// finite is the number of a value of the next row.
func (c *parquetColumn) finite(v parquet.Value) (float32, error) {
	x := c.number(v)
	if !(math.Abs(float64(x)) <= math.MaxFloat32) {
		return 0, c.wrongRow("a number that is not finite as a 32-bit one", "a finite number")
	}
	return x, nil
}

// nextList reads the list of the next row, which is as long as dst.
func (c *parquetColumn) nextList(dst []float32) error {
	n := 0
	for {
		v, err := c.peek()
		if err != nil && (err != io.EOF || n == 0) {
			return c.ended(err)
		}
		if err == io.EOF || n > 0 && v.RepetitionLevel() == 0 {
			break
		}
		if v, err = c.next(); err != nil {
			return err
		}
		if n < len(dst) {
			if dst[n], err = c.finite(v); err != nil {
				return err
			}
		}
		n++
	}
	if n != len(dst) {
		return c.wrongRow(fmt.Sprintf("a list of %d numbers", n), fmt.Sprintf("the declared %d", len(dst)))
	}
	c.row++
	return nil
}

// nextLabel reads the class of the next row.
func (c *parquetColumn) nextLabel() (uint8, error) {
	v, err := c.next()
	if err != nil {
		return 0, err
	}
	label, known := c.class(v)
	if !known {
		return 0, c.wrongRow("a label that has no class", c.expect)
	}
	c.row++
	return label, nil
}

// next takes the next value, which is none of the missing ones.
func (c *parquetColumn) next() (parquet.Value, error) {
	v, err := c.peek()
	if err != nil {
		return v, c.ended(err)
	}
	if v.IsNull() {
		what := "no value"
		if c.list {
			what = "no list, an empty one or one that lacks a number"
		}
		return v, c.wrongRow(what, "all of them")
	}
	c.rest = c.rest[1:]
	return v, nil
}

// ended is the error of a column that ends before the last row, or cannot be read.
func (c *parquetColumn) ended(err error) error {
	if err == io.EOF {
		return c.wrong("ends after %d rows", "as many as the file declares", c.row)
	}
	return err
}

// peek returns the next value without taking it, or io.EOF. It is valid until the next call.
func (c *parquetColumn) peek() (parquet.Value, error) {
	for len(c.rest) == 0 {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return parquet.Value{}, err
			}
		}
		n, err := c.values.ReadValues(c.buffer[:])
		if err != nil && !errors.Is(err, io.EOF) {
			return parquet.Value{}, damaged(c.file, err)
		}
		if c.rest = c.buffer[:n]; n == 0 {
			c.values = nil
		}
	}
	return c.rest[0], nil
}

func (c *parquetColumn) nextPage() error {
	if c.pages == nil {
		c.pages = c.leaf.Pages()
	}
	parquet.Release(c.page)
	c.page = nil
	page, err := c.pages.ReadPage()
	if err == io.EOF {
		return io.EOF
	}
	if err != nil {
		return damaged(c.file, err)
	}
	c.page, c.values = page, page.Values()
	return nil
}

func (c *parquetColumn) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	if c.pages != nil {
		c.pages.Close()
	}
}
