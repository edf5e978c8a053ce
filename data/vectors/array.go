package vectors

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/checkpoints/safetensors"
)

// array is a dense array of numbers in a file.
type array struct {
	name  string // of the file and, where it holds several, the tensor: for messages
	shape []int

	element   safetensors.Element
	backwards bool        // the highest byte of each number comes first
	byColumns bool        // in column-major order, which is Fortran's; otherwise in row-major order
	content   io.ReaderAt // the numbers alone
}

// floats reads len(dst) numbers, in the order of the file from number from on, rounded to float32.
// A number that is too large for float32 becomes infinite.
func (a *array) floats(dst []float32, from int) error {
	b, err := a.bytes(len(dst), from)
	if err == nil {
		a.element.Floats(dst, b)
	}
	return err
}

// checkVectors refuses an array that does not consist of one vector or more of the given width.
func (a *array) checkVectors(width int) error {
	switch {
	case len(a.shape) != 2:
		return fmt.Errorf("%s has the shape %v, expected two sizes: vectors and their width", a.name, a.shape)
	case a.shape[1] != width:
		return fmt.Errorf("%s has vectors of width %d, expected the declared %d", a.name, a.shape[1], width)
	case a.shape[0] == 0:
		return fmt.Errorf("%s holds no vector, expected at least one", a.name)
	}
	return nil
}

// checkLabels refuses an array that is not one-dimensional or does not hold integers.
func (a *array) checkLabels() error {
	switch {
	case !a.element.Whole:
		return fmt.Errorf("%s holds floating-point numbers, expected integers", a.name)
	case len(a.shape) != 1:
		return fmt.Errorf("%s has the shape %v, expected one size: a label for each vector", a.name, a.shape)
	}
	return nil
}

// read implements rows. It passes no labels, because these are in an array of their own.
func (a *array) read(take func(vectors []float32, labels []uint8) error) error {
	n, width := a.shape[0], a.shape[1]
	atOnce := rowsAtOnce(width)
	if a.byColumns {
		atOnce = max(atOnce, 1<<10) // each piece of a column is read on its own
	}
	x := make([]float32, min(atOnce, n)*width)
	for first := 0; first < n; first += atOnce {
		x := x[:min(atOnce, n-first)*width]
		if err := a.rows(x, first); err != nil {
			return err
		}
		if err := take(x, nil); err != nil {
			return err
		}
	}
	return nil
}

// rows reads vectors into dst until it is full, from vector first on.
func (a *array) rows(dst []float32, first int) error {
	n, width := a.shape[0], a.shape[1]
	if !a.byColumns {
		return a.floats(dst, first*width)
	}
	column := make([]float32, len(dst)/width)
	for j := range width {
		if err := a.floats(column, j*n+first); err != nil {
			return err
		}
		for i, v := range column {
			dst[i*width+j] = v
		}
	}
	return nil
}

// integers returns all numbers of an array that checkLabels has passed.
func (a *array) integers() ([]int64, error) {
	values := make([]int64, a.shape[0])
	b, err := a.bytes(len(values), 0)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = a.element.Integer(b[i*a.element.Size:])
	}
	return values, nil
}

// bytes returns the bytes of n numbers, from number from on, the lowest byte of each first.
func (a *array) bytes(n, from int) ([]byte, error) {
	size := a.element.Size
	b := make([]byte, n*size)
	if _, err := a.content.ReadAt(b, int64(from)*int64(size)); err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	for i := 0; a.backwards && i < len(b); i += size {
		slices.Reverse(b[i : i+size])
	}
	return b, nil
}

// NumPy's format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions
// 1.0, 2.0 and 3.0. A magic text, the version, the length of the header, and the header, the text
// of a dictionary in Python.
const (
	npyMagic = "\x93NUMPY"
	// maxNPYHeader is the limit that NumPy itself has by default.
	maxNPYHeader = 10000
)

// npyTypes are the types that are read, by their descriptions without the first character. That is
// the order of bytes: "<" for the lowest first, ">" for the highest first, "|" for single bytes.
var npyTypes = map[string]safetensors.Element{
	"f2": safetensors.Binary16, "f4": safetensors.Binary32, "f8": safetensors.Binary64, "b1": safetensors.Whole(1, false),
	"i1": safetensors.Whole(1, true), "i2": safetensors.Whole(2, true), "i4": safetensors.Whole(4, true), "i8": safetensors.Whole(8, true),
	"u1": safetensors.Whole(1, false), "u2": safetensors.Whole(2, false), "u4": safetensors.Whole(4, false), "u8": safetensors.Whole(8, false),
}

// openNPY returns the array of a NumPy file. It refuses a file that does not end with the array.
func openNPY(f *os.File) (*array, error) {
	size, err := sizeOf(f)
	if err != nil {
		return nil, err
	}
	text, begin, err := npyHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	a := &array{name: f.Name()}
	if err := a.parseNPY(text); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	count, err := safetensors.Elements(a.shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if want := begin + count*int64(a.element.Size); size != want {
		return nil, fmt.Errorf("%s has %d bytes, expected %d for the shape %v", f.Name(), size, want, a.shape)
	}
	a.content = io.NewSectionReader(f, begin, size-begin)
	return a, nil
}

// npyHeader returns the text of the header and where the numbers begin.
func npyHeader(r io.ReaderAt) (text string, begin int64, err error) {
	start := make([]byte, len(npyMagic)+6) // version and length: 2 and 2 bytes, from version 2.0 on 2 and 4
	n, _ := r.ReadAt(start, 0)
	if start = start[:n]; !strings.HasPrefix(string(start), npyMagic) || n < len(npyMagic)+4 {
		return "", 0, fmt.Errorf(`found no file of NumPy's, expected one that begins with "\x93NUMPY"`)
	}
	major, minor, rest := start[6], start[7], start[8:]
	var length int64
	switch {
	case major == 1 && minor == 0:
		length, begin = int64(binary.LittleEndian.Uint16(rest)), 10
	case (major == 2 || major == 3) && minor == 0 && len(rest) == 4:
		length, begin = int64(binary.LittleEndian.Uint32(rest)), 12
	default:
		return "", 0, fmt.Errorf("found version %d.%d of NumPy's format, expected 1.0, 2.0 or 3.0", major, minor)
	}
	if length > maxNPYHeader {
		return "", 0, fmt.Errorf("found a header of %d bytes, expected at most %d", length, maxNPYHeader)
	}
	content := make([]byte, length)
	if n, err := r.ReadAt(content, begin); int64(n) < length {
		return "", 0, fmt.Errorf("the header ends after %d bytes, expected %d (%w)", n, length, err)
	}
	return string(content), begin + length, nil
}

// npyEntry is one key of the dictionary with its value, and what follows it.
var npyEntry = regexp.MustCompile(`^\s*['"](\w+)['"]\s*:\s*('[^']*'|"[^"]*"|\w+|\([0-9,\s]*\)|\[[^\]]*\])\s*(,|$)`)

// parseNPY sets the array by a dictionary of exactly descr, fortran_order and shape, in any order.
func (a *array) parseNPY(text string) error {
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	found := map[string]string{}
	rest := strings.TrimSpace(inner)
	for opened && closed && rest != "" {
		m := npyEntry.FindStringSubmatch(rest)
		if m == nil || found[m[1]] != "" {
			break
		}
		found[m[1]], rest = m[2], strings.TrimSpace(rest[len(m[0]):])
	}
	if !opened || !closed || rest != "" || len(found) != 3 || found["descr"] == "" || found["fortran_order"] == "" || found["shape"] == "" {
		return fmt.Errorf("found a header that cannot be read, expected a dictionary of descr, fortran_order and shape")
	}
	a.byColumns = found["fortran_order"] == "True"
	if order := found["fortran_order"]; !a.byColumns && order != "False" {
		return fmt.Errorf("found fortran_order %.40s, expected False or True", order)
	}
	descr := strings.Trim(found["descr"], `'"`)
	order, name := descr[:min(1, len(descr))], descr[min(1, len(descr)):]
	known := false
	if a.element, known = npyTypes[name]; !known || order != "<" && order != ">" && (order != "|" || a.element.Size > 1) {
		return fmt.Errorf("found elements %.40s, expected one of %s, behind < or > for the order of bytes", found["descr"], safetensors.NamesOf(npyTypes))
	}
	a.backwards = order == ">"
	return a.parseShape(found["shape"])
}

// parseShape sets the array's shape to a tuple of integers.
func (a *array) parseShape(tuple string) error {
	inner, opened := strings.CutPrefix(tuple, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	fields := strings.Split(inner, ",")
	if len(fields) > 1 && strings.TrimSpace(fields[len(fields)-1]) == "" { // (3,)
		fields = fields[:len(fields)-1]
	}
	for _, field := range fields {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 10, strconv.IntSize-1)
		if err != nil || !opened || !closed {
			return fmt.Errorf("found the shape %.40s, expected one such as (50000, 512)", tuple)
		}
		a.shape = append(a.shape, int(n))
	}
	return nil
}
