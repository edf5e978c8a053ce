package tensorboard

import (
	"encoding/binary"
	"math"
)

// message is one in the wire format of Protocol Buffers, field after field. A field begins with its
// number and a type: 0 for integers of variable length, 1 for 64 bits, 2 for bytes with their length,
// 5 for 32 bits. Numbers that are 0 are left out, which says the same.
type message []byte

func (m *message) tag(field, kind int) { *m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(kind)) }

func (m *message) integer(field int, v uint64) {
	if v != 0 {
		m.tag(field, 0)
		*m = binary.AppendUvarint(*m, v)
	}
}

func (m *message) double(field int, v float64) {
	if v != 0 {
		m.tag(field, 1)
		*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
	}
}

func (m *message) bytes(field int, b []byte) {
	m.tag(field, 2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// float is written also if it is 0: it is one of several values that a message may have.
func (m *message) float(field int, v float32) {
	m.tag(field, 5)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) doubles(field int, list []float64) {
	var packed []byte
	for _, v := range list {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
	}
	m.bytes(field, packed)
}
