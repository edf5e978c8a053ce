// Package tensorboard writes the event files that TensorBoard shows: numbers, histograms and
// hyper-parameters by step, as records ([Record]) of messages ([Event]).
//
// An event has a field for the time of day. It stays 0: how long a step took tells how many
// examples were drawn for it, which is not public.
//
// Formats: TensorFlow's tensorflow/core/lib/io/record_writer.h (records) and
// tensorflow/core/util/event.proto, core/framework/summary.proto, TensorBoard's
// tensorboard/plugins/hparams/{api,plugin_data}.proto (messages), all of them in the wire format of
// Protocol Buffers.
package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Event holds the values after a step. The first record of a file is one with a Version alone.
type Event struct {
	Step    int
	Version string // Version in the first record of a file, "" in all others
	Values  []Value
}

// Version stands in the first record of a file and tells the format of the others.
const Version = "brain.Event:2"

// Value is a number, a histogram or hyper-parameters, under a tag.
type Value struct{ message message }

// Encode writes the event as a message, which is the data of a record.
func (e Event) Encode() []byte {
	var m message
	m.integer(2, uint64(e.Step))
	if e.Version != "" {
		m.text(3, e.Version)
	}
	if len(e.Values) > 0 {
		var summary message
		for _, v := range e.Values {
			summary.bytes(1, v.message)
		}
		m.bytes(5, summary)
	}
	return m
}

// Scalar returns v under a tag, rounded to float32: TensorBoard keeps 24 bits.
func Scalar(tag string, v float64) Value {
	var m message
	m.text(1, tag)
	m.float(2, float32(v))
	return Value{m}
}

// Bound returns an upper bound v under a tag, rounded up to float32.
func Bound(tag string, v float64) Value {
	short := float32(v)
	if float64(short) < v {
		short = math.Nextafter32(short, float32(math.Inf(1)))
	}
	return Scalar(tag, float64(short))
}

// Buckets is a histogram: how many of some values are at most Limits[0], above that and at most
// Limits[1], and so on. Limits increase.
type Buckets struct {
	Limits []float64 `json:"limits"`
	Counts []float64 `json:"counts"`

	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Sum        float64 `json:"sum"`
	SumSquares float64 `json:"sum_squares"`
}

// Histogram returns the histogram b under a tag.
func Histogram(tag string, b Buckets) Value {
	var h message
	number := 0.0
	for _, n := range b.Counts {
		number += n
	}
	for i, v := range []float64{b.Min, b.Max, number, b.Sum, b.SumSquares} {
		h.double(i+1, v)
	}
	h.doubles(6, b.Limits)
	h.doubles(7, b.Counts)
	var m message
	m.text(1, tag)
	m.bytes(5, h)
	return Value{m}
}

// growth is about the ratio of two neighbouring limits of a histogram.
const growth = 1.1

// Count returns the histogram of values, which are at least 0. Its first limit is about the least
// of them, and each limit is about a tenth above the one before. Without values it is empty.
func Count(values []float64) Buckets {
	b := Buckets{}
	if len(values) == 0 {
		return b
	}
	b.Min, b.Max = slices.Min(values), slices.Max(values)
	limit := shortened(b.Min)
	b.Limits = []float64{limit}
	for limit < b.Max {
		if limit = shortened(limit * growth); limit == 0 {
			limit = shortened(slices.Min(slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v == 0 })))
		}
		b.Limits = append(b.Limits, limit)
	}
	b.Counts = make([]float64, len(b.Limits))
	for _, v := range values {
		i, _ := slices.BinarySearch(b.Limits, v)
		b.Counts[i]++
		b.Sum += v
		b.SumSquares += v * v
	}
	return b
}

// shortened returns x rounded up to three digits, which take few bytes in a file.
func shortened(x float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err == nil && short < x {
		short, err = strconv.ParseFloat(strconv.FormatFloat(x*1.005, 'e', 2, 64), 64)
	}
	if err != nil {
		return x
	}
	return max(short, x)
}

// Settings are the hyper-parameters of a run: the plugin "hparams" puts them beside the newest
// numbers of the run. Values are float64, bool or string; others are left out.
func Settings(values map[string]any) Value {
	var start message // SessionStartInfo
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if v := protobufValue(values[name]); v != nil {
			var entry message
			entry.text(1, name)
			entry.bytes(2, v)
			start.bytes(1, entry)
		}
	}
	var content message // HParamsPluginData of version 0
	content.bytes(3, start)

	var plugin, metadata, tensor message
	plugin.text(1, "hparams")
	plugin.bytes(2, content)
	metadata.bytes(1, plugin)
	// The value itself is an empty tensor of float32: DT_FLOAT, with one dimension of size 0.
	tensor.integer(1, 1)
	tensor.bytes(2, []byte{2<<3 | 2, 0})

	var m message
	m.text(1, "_hparams_/session_start_info")
	m.bytes(8, tensor)
	m.bytes(9, metadata)
	return Value{m}
}

// protobufValue encodes a float64, string or bool as a google.protobuf.Value; it returns nil for
// any other type.
func protobufValue(v any) message {
	var m message
	switch v := v.(type) {
	case float64:
		m.tag(2, 1) // also if it is 0
		m = binary.LittleEndian.AppendUint64(m, math.Float64bits(v))
	case string:
		m.text(3, v)
	case bool:
		m.tag(4, 0)
		m = append(m, 0)
		if v {
			m[len(m)-1] = 1
		}
	}
	return m
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the checksum of b as records hold it: the CRC-32C, rotated by 15 bits and with a
// constant added. It is not the CRC itself, because records may hold others that hold CRCs
// (record_writer.h; crc32c::Mask in tensorflow/core/lib/hash/crc32c.h).
func masked(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// Record appends data to dst, framed by its length and checksums: all integers are little-endian.
//
//	uint64 length | uint32 checksum of these 8 bytes | data | uint32 checksum of data
func Record(dst, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	dst = append(dst, length...)
	dst = binary.LittleEndian.AppendUint32(dst, masked(length))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, masked(data))
}

// message is one in the wire format of Protocol Buffers, field after field. A field begins with its
// number and a type: 0 for integers of variable length, 1 for 64 bits, 2 for bytes with their
// length, 5 for 32 bits. Numbers that are 0 are left out, which says the same.
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

// float appends a field with the value v, even if v is 0: the field is one of several of which a
// message has exactly one, and so a reader must see it.
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
