package safetensors

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"dpsgd/internal/kernel"
)

// Element describes how a file stores one number: the lowest byte first.
type Element struct {
	Size   int  // in bytes
	Whole  bool // an integer, or a truth value, which is 0 or 1
	signed bool
	floats func(dst []float32, b []byte) // what Floats does; nil if Whole
}

// Types are the types of elements that are read, by their names in the format. Those of 4, 6 and 8
// bits with a fraction, and complex numbers, are not among them.
var Types = map[string]Element{
	"F16": Binary16, "BF16": bfloat16, "F32": Binary32, "F64": Binary64, "BOOL": Whole(1, false),
	"I8": Whole(1, true), "I16": Whole(2, true), "I32": Whole(4, true), "I64": Whole(8, true),
	"U8": Whole(1, false), "U16": Whole(2, false), "U32": Whole(4, false), "U64": Whole(8, false),
}

// NamesOf returns the names of types in order, with commas between them, for messages.
func NamesOf(types map[string]Element) string {
	return strings.Join(slices.Sorted(maps.Keys(types)), ", ")
}

// Elements of numbers with a fraction.
var (
	Binary16 = Element{Size: 2, floats: func(dst []float32, b []byte) {
		halves := make([]uint16, len(dst))
		for i := range halves {
			halves[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		kernel.FromHalves(dst, halves)
	}}
	bfloat16 = Element{Size: 2, floats: func(dst []float32, b []byte) {
		for i := range dst { // the upper half of a binary32
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
	}}
	Binary32 = Element{Size: 4, floats: func(dst []float32, b []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}}
	Binary64 = Element{Size: 8, floats: func(dst []float32, b []byte) {
		for i := range dst {
			dst[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}}
)

// Whole returns the element of integers of so many bytes, from 1 to 8, with a sign or without.
func Whole(size int, signed bool) Element { return Element{Size: size, Whole: true, signed: signed} }

// Integer returns the integer at the start of b; without a sign, one from 2^63 comes out negative.
func (e Element) Integer(b []byte) int64 {
	var wide [8]byte
	copy(wide[:], b[:e.Size])
	v := binary.LittleEndian.Uint64(wide[:])
	if unused := 64 - 8*e.Size; e.signed {
		return int64(v<<unused) >> unused
	}
	return int64(v)
}

// Floats fills dst with the numbers at the start of b, rounded to float32. A number that is too
// large for float32 becomes infinite.
func (e Element) Floats(dst []float32, b []byte) {
	if !e.Whole {
		e.floats(dst, b)
		return
	}
	for i := range dst {
		v := e.Integer(b[i*e.Size:])
		if dst[i] = float32(v); !e.signed {
			dst[i] = float32(uint64(v))
		}
	}
}
