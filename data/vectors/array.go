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
	b, err := a.read(len(dst), from)
	if err == nil {
		a.element.floats(dst, b)
	}
	return err
}

// integers reads all numbers.
func (a *array) integers() ([]int64, error) {
	values := make([]int64, a.shape[0])
	b, err := a.read(len(values), 0)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = a.element.integer(b[i*a.element.size:])
	}
	return values, nil
}

// read returns the bytes of n numbers.
func (a *array) read(n, from int) ([]byte, error) {
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
