package checkpoints

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"dpsgd/checkpoints/safetensors"
	"dpsgd/internal/disk"
)

// Tensor is one tensor of a model file.
type Tensor = safetensors.Tensor

// elementType is the type of the elements in files that [WriteModel] writes.
const elementType = "F32"

// WriteModel writes tensors, in the given order, and metadata, in the order of its keys, as a
// safetensors file that the reference implementation reads. It is whole or absent (see
// [WriteFileAtomic]), has permissions 0600, and equal input gives equal bytes.
//
// Names must be unique, valid UTF-8 and not "__metadata__"; shapes must fit their data; every
// element must be finite ([ErrNotFinite]). What breaks one of these rules is refused by
// name before anything is written.
func WriteModel(path string, tensors []Tensor, metadata map[string]string) error {
	file, err := encode(tensors, metadata)
	if err != nil {
		return fmt.Errorf("checkpoints: write %s: %w", path, err)
	}
	return WriteFileAtomic(path, file, 0)
}

// encode checks everything and returns the content of the file.
func encode(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	entries := make([]safetensors.Entry, len(tensors))
	offset := int64(0)
	for i, t := range tensors {
		size, err := checkTensor(t)
		if err != nil {
			return nil, err
		}
		entries[i] = safetensors.Entry{Name: t.Name, Type: elementType, Shape: t.Shape, Begin: offset, End: offset + size}
		offset += size
	}
	head, err := safetensors.Format(entries, metadata)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(append(make([]byte, 0, int64(len(head))+offset), head...))
	for _, t := range tensors {
		writeFloats(b, t.Data)
	}
	return b.Bytes(), nil
}

// checkTensor returns the size of a tensor in bytes, or an error if WriteModel has to refuse it.
func checkTensor(t Tensor) (int64, error) {
	if err := safetensors.CheckName(t.Name); err != nil {
		return 0, err
	}
	elements, err := safetensors.Elements(t.Shape)
	if err != nil {
		return 0, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	if elements != int64(len(t.Data)) {
		return 0, fmt.Errorf("tensor %q: found %d elements, expected %d for shape %v", t.Name, len(t.Data), elements, t.Shape)
	}
	return elements * floatSize, requireFinite(fmt.Sprintf("tensor %q", t.Name), t.Data)
}

// ReadModel reads a safetensors file and returns its tensors in the order of their data, with
// the metadata (nil if the file has none).
//
// Elements of the types that [safetensors.Types] has are rounded to float32; other types are
// refused by name. It is strict where files have been used to confuse readers: no duplicate or
// differently spelled keys, no hole, overlap or trailing byte in the data, no overflow in a shape.
// Elements that are not finite as float32 are refused ([ErrNotFinite]), because a network with one
// NaN weight answers NaN to everything. Whatever the file claims, no more is allocated than a small
// multiple of the file's own size. Damage is reported as [ErrCorrupt].
func ReadModel(path string) ([]Tensor, map[string]string, error) {
	return ReadModelThrough(path, io.Discard)
}

// ReadModelThrough does what [ReadModel] does, and writes every byte that it reads to w, such as a
// hash.
func ReadModelThrough(path string, w io.Writer) ([]Tensor, map[string]string, error) {
	f, size, err := openRegular(disk.System, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors, metadata, err := parse(bufio.NewReaderSize(io.TeeReader(content(f), w), 1<<16), size)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoints: read %s: %w", path, err)
	}
	return tensors, metadata, nil
}

// parse reads a model file of exactly size bytes.
func parse(r io.Reader, size int64) ([]Tensor, map[string]string, error) {
	entries, metadata, _, err := safetensors.Read(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		element := safetensors.Types[e.Type]
		data, err := readElements(r, element, int(e.End-e.Begin)/element.Size)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		name := fmt.Sprintf("tensor %q", e.Name)
		if e.Type != elementType {
			name += " of " + e.Type + " as " + elementType
		}
		if err := requireFinite(name, data); err != nil {
			return nil, nil, err
		}
		tensors[i] = Tensor{Name: e.Name, Shape: e.Shape, Data: data}
	}
	return tensors, metadata, nil
}

// readElements reads n elements as float32, some at a time. It allocates them first: the caller has
// compared n with the size of the file.
func readElements(r io.Reader, element safetensors.Element, n int) ([]float32, error) {
	data := make([]float32, n)
	buffer := make([]byte, 1<<10*element.Size)
	for part := range slices.Chunk(data, 1<<10) {
		if _, err := io.ReadFull(r, buffer[:len(part)*element.Size]); err != nil {
			return nil, err
		}
		element.Floats(part, buffer)
	}
	return data, nil
}

// floatSize is the number of bytes of a stored value.
const floatSize = 4

// writeFloats writes values as little-endian float32. w keeps its first error, or has none.
func writeFloats(w io.Writer, values []float32) {
	buffer := make([]byte, 0, floatSize<<10)
	for part := range slices.Chunk(values, 1<<10) {
		buffer = buffer[:0]
		for _, v := range part {
			buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(v))
		}
		w.Write(buffer)
	}
}

// requireFinite returns ErrNotFinite with the index, not the value, of the first NaN or infinity.
// Such a parameter makes every prediction NaN and every later update too: a file that holds one is
// useless, and the moment it is written or read is the last one at which the cause can still be
// named.
func requireFinite(name string, values []float32) error {
	for i, v := range values {
		// v-v is 0 for every finite v and NaN for the others.
		if v-v != 0 {
			return fmt.Errorf("%s: element %d of %d is NaN or infinite, expected finite numbers: %w", name, i, len(values), ErrNotFinite)
		}
	}
	return nil
}
