package vectors

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"dpsgd/internal/kernel"
)

// array is a dense array of numbers in a file, in row-major order.
type array struct {
	name  string // of the file and, where it holds several, the tensor: for messages
	shape []int

	element element
	content io.ReaderAt // the numbers alone
}

// element is how a file stores one number.
type element struct {
	size   int
	floats func(dst []float32, b []byte) // nil where the number is an integer
	signed bool
}

// Elements of floating-point numbers, and little-endian integers.
var (
	binary16 = element{size: 2, floats: func(dst []float32, b []byte) {
		halves := make([]uint16, len(dst))
		for i := range halves {
			halves[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		kernel.FromHalves(dst, halves)
	}}
	bfloat16 = element{size: 2, floats: func(dst []float32, b []byte) {
		for i := range dst { // the upper half of a binary32
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
	}}
	binary32 = element{size: 4, floats: func(dst []float32, b []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}}
	binary64 = element{size: 8, floats: func(dst []float32, b []byte) {
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}}
)

func signed(size int) element   { return element{size: size, signed: true} }
func unsigned(size int) element { return element{size: size} }

// integer reads one number; one of 64 bits without a sign that needs them all comes out negative.
func (e element) integer(b []byte) int64 {
	var wide [8]byte
	copy(wide[:], b[:e.size])
	v := binary.LittleEndian.Uint64(wide[:])
	if unused := 64 - 8*e.size; e.signed {
		return int64(v<<unused) >> unused
	}
	return int64(v)
}

// floats reads len(dst) numbers from index from on, rounded to float32; what is too large for it
// becomes infinite.
func (a *array) floats(dst []float32, from int) error {
	b, err := a.bytes(len(dst), from)
	if err == nil {
		a.element.floats(dst, b)
	}
	return err
}

// checkVectors makes sure that the array holds vectors of a width, and at least one.
func (a *array) checkVectors(width int) error {
	switch {
	case a.element.floats == nil:
		return fmt.Errorf("%s holds integers, expected floating-point numbers", a.name)
	case len(a.shape) != 2:
		return fmt.Errorf("%s has the shape %v, expected two sizes: vectors and their width", a.name, a.shape)
	case a.shape[1] != width:
		return fmt.Errorf("%s has vectors of width %d, expected the declared %d", a.name, a.shape[1], width)
	case a.shape[0] == 0:
		return fmt.Errorf("%s holds no vector, expected at least one", a.name)
	}
	return nil
}

// checkLabels makes sure that the array holds labels.
func (a *array) checkLabels() error {
	switch {
	case a.element.floats != nil:
		return fmt.Errorf("%s holds floating-point numbers, expected integers", a.name)
	case len(a.shape) != 1:
		return fmt.Errorf("%s has the shape %v, expected one size: a label for each vector", a.name, a.shape)
	}
	return nil
}

// count implements rows.
func (a *array) count() (int, error) { return a.shape[0], nil }

// read implements rows: labels are in an array of their own.
func (a *array) read(take func(vectors []float32, labels []uint8) error) error {
	n, width := a.shape[0], a.shape[1]
	x := make([]float32, rowsAtOnce(width)*width)
	for from := 0; from < n*width; from += len(x) {
		x := x[:min(len(x), n*width-from)]
		if err := a.floats(x, from); err != nil {
			return err
		}
		if err := take(x, nil); err != nil {
			return err
		}
	}
	return nil
}

// integers reads all numbers.
func (a *array) integers() ([]int64, error) {
	values := make([]int64, a.shape[0])
	b, err := a.bytes(len(values), 0)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = a.element.integer(b[i*a.element.size:])
	}
	return values, nil
}

// bytes returns the bytes of n numbers.
func (a *array) bytes(n, from int) ([]byte, error) {
	b := make([]byte, n*a.element.size)
	if _, err := a.content.ReadAt(b, int64(from)*int64(a.element.size)); err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	return b, nil
}

// namesOf lists the types that a format knows, for messages.
func namesOf(types map[string]element) string {
	return strings.Join(slices.Sorted(maps.Keys(types)), ", ")
}
