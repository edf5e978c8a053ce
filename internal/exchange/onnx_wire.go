package exchange

import (
	"encoding/binary"
	"math"
)

// message is an encoded protocol buffer, https://protobuf.dev/programming-guides/encoding, to which
// fields are appended.
type message []byte

// Types of fields on the wire.
const (
	wireVarint = 0
	wireBytes  = 2
	wireFixed4 = 5
)

func (m *message) tag(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

func (m *message) integer(field int, v int64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float(field int, v float32) {
	m.tag(field, wireFixed4)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) bytes(field int, v []byte) {
	m.tag(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(v))), v...)
}

func (m *message) text(field int, v string) { m.bytes(field, []byte(v)) }
