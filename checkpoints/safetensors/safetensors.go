// Package safetensors writes and reads model files of the safetensors format
// (https://github.com/huggingface/safetensors): named tensors of float32 and a table of strings.
// Other programs read what [Write] makes, and nothing that [Read] takes in can execute code.
//
// The format has no checksum: Read refuses every file whose parts do not fit together, but not
// another finite weight.
package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"dpsgd/checkpoints"
	"dpsgd/checkpoints/internal/floats"
)

// A Tensor is a named, dense, row-major array. Shape may be empty (a scalar, one element) or hold
// zeros (no element); the product of its dimensions is len(Data).
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Limits of a safetensors file. The reference allows headers of 100 MB; 16 MiB hold some hundred
// thousand tensors and keep what a malicious file can make a reader parse small.
const (
	maxHeader          = 16 << 20
	maxTensorName      = 1 << 10
	maxTensorRank      = 16
	maxMetadataEntries = 1 << 10
	maxMetadataString  = 1 << 16
)

// prefixSize is the size of the header's length field.
const prefixSize = 8

// Write writes tensors, in the given order, and metadata, in the order of its keys, as a
// safetensors file that the reference implementation reads. It is whole or absent (see
// [checkpoints.WriteFileAtomic]), has permissions 0600, and equal input gives equal bytes.
//
// Names must be unique, valid UTF-8 and not "__metadata__"; shapes must fit their data; every
// element must be finite ([checkpoints.ErrNotFinite]). What breaks one of these rules is refused by
// name before anything is written.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	file, err := encode(tensors, metadata)
	if err != nil {
		return fmt.Errorf("checkpoints: write %s: %w", path, err)
	}
	return checkpoints.WriteFileAtomic(path, file, 0)
}

// encode checks everything and returns the content of the file.
func encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	entries := make([]tensorEntry, len(tensors))
	offset := int64(0)
	for i, t := range tensors {
		size, err := checkTensor(t)
		if err != nil {
			return nil, err
		}
		entries[i] = tensorEntry{name: t.Name, shape: t.Shape, begin: offset, end: offset + size}
		offset += size
	}
	header, err := formatHeader(entries, metadata)
	if err != nil {
		return nil, err
	}
	file := make([]byte, 0, prefixSize+int64(len(header))+offset)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(header)))
	b := bytes.NewBuffer(append(file, header...))
	for _, t := range tensors {
		if err := floats.Write(b, t.Data); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// checkTensor returns the size of a tensor in bytes.
func checkTensor(t Tensor) (int64, error) {
	if err := checkTensorName(t.Name); err != nil {
		return 0, err
	}
	elements, err := elementCount(t.Shape)
	if err != nil {
		return 0, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	if elements != int64(len(t.Data)) {
		return 0, fmt.Errorf("tensor %q: found %d elements, expected %d for shape %v", t.Name, len(t.Data), elements, t.Shape)
	}
	return elements * floats.Size, floats.RequireFinite(fmt.Sprintf("tensor %q", t.Name), t.Data)
}

// elementCount multiplies the dimensions, refusing what does not fit into memory. A zero anywhere
// makes the product zero, but does not excuse an overflow to the left of it, as in the reference.
func elementCount(shape []int) (int64, error) {
	if len(shape) > maxTensorRank {
		return 0, fmt.Errorf("found %d dimensions, expected at most %d", len(shape), maxTensorRank)
	}
	product := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d > 0 && product > math.MaxInt/floats.Size/int64(d) {
			return 0, fmt.Errorf("shape %v has more elements than fit into memory", shape)
		}
		product *= int64(d)
	}
	return product, nil
}

// Read reads a safetensors file and returns its tensors in the order of their data, with
// the metadata (nil if the file has none).
//
// It reads F32 only and refuses other element types by name. It is strict where files have been
// used to confuse readers: no duplicate or differently spelled keys, no hole, overlap or trailing
// byte in the data, no overflow in a shape. Elements that are not finite are refused
// ([checkpoints.ErrNotFinite]), because a network with one NaN weight answers NaN to everything.
// Whatever the file claims, no more is allocated than a small multiple of the file's own size.
// Damage is reported as [checkpoints.ErrCorrupt].
func Read(path string) ([]Tensor, map[string]string, error) {
	f, size, err := checkpoints.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, metadata, err := parse(bufio.NewReaderSize(f, 1<<16), size)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoints: read %s: %w", path, err)
	}
	return tensors, metadata, nil
}

// parse reads a file of exactly size bytes.
func parse(r io.Reader, size int64) ([]Tensor, map[string]string, error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, nil, fmt.Errorf("found %d bytes, expected the 8 bytes of a header length and more: %w", size, checkpoints.ErrCorrupt)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	room := uint64(size - prefixSize)
	if length > maxHeader || length > room {
		return nil, nil, fmt.Errorf("found a header length of %d bytes, expected at most %d (%d bytes follow it): %w",
			length, min(room, maxHeader), room, checkpoints.ErrCorrupt)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("read the header: %w", err)
	}
	entries, metadata, err := parseHeader(header)
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w: %w", err, checkpoints.ErrCorrupt)
	}
	if err := checkCoverage(entries, int64(room-length)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, checkpoints.ErrCorrupt)
	}
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		data, err := floats.Read(r, int(e.end-e.begin)/floats.Size)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		if err := floats.RequireFinite(fmt.Sprintf("tensor %q", e.name), data); err != nil {
			return nil, nil, err
		}
		tensors[i] = Tensor{Name: e.name, Shape: e.shape, Data: data}
	}
	return tensors, metadata, nil
}

// checkCoverage requires that the tensors, which come in the order of their data, fill it exactly.
func checkCoverage(entries []tensorEntry, size int64) error {
	end := int64(0)
	for _, e := range entries {
		if e.begin != end {
			return fmt.Errorf("tensor %q begins at byte %d of the data, expected %d (no hole, no overlap)", e.name, e.begin, end)
		}
		end = e.end
	}
	if end != size {
		return fmt.Errorf("found %d bytes of data, expected the %d that the header describes", size, end)
	}
	return nil
}
