// Package safetensors reads and writes the headers of safetensors files
// (https://github.com/huggingface/safetensors): which tensors a file holds, and where.
//
// It is strict where files have been used to confuse readers: no duplicate or differently spelled
// keys, no hole, overlap or trailing byte in the data, no overflow in a shape.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsgd/internal/strictjson"
)

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

// metadataKey names no tensor; all other keys of a header do.
const metadataKey = "__metadata__"

// Tensor is a named, dense, row-major array. Shape may be empty (a scalar, one element) or hold
// zeros (no element); the product of its dimensions is len(Data).
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Entry is one tensor as the header describes it. Begin and End count bytes of the data, which
// follow the header.
type Entry struct {
	Name       string
	Type       string // of the elements: "F32"
	Shape      []int
	Begin, End int64
}

// Read reads the header of a file of size bytes and returns its entries in the order of their data,
// with the metadata (nil if there is none), and where the data begins. The entries fill the data
// exactly, without hole, overlap or rest, and no shape has more elements than fit into memory.
func Read(r io.Reader, size int64) (entries []Entry, metadata map[string]string, begin int64, err error) {
	var prefix [prefixSize]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, nil, 0, fmt.Errorf("found %d bytes, expected the 8 bytes of a header length and more", size)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	room := uint64(size - prefixSize)
	if length > maxHeader || length > room {
		return nil, nil, 0, fmt.Errorf("found a header length of %d bytes, expected at most %d (%d bytes follow it)", length, min(room, maxHeader), room)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, nil, 0, fmt.Errorf("read the header: %w", err)
	}
	if entries, metadata, err = parse(header); err != nil {
		return nil, nil, 0, fmt.Errorf("header: %w", err)
	}
	return entries, metadata, prefixSize + int64(length), checkCoverage(entries, int64(room-length))
}

// Format returns the beginning of a file, up to its data: the length and the header of entries,
// padded with spaces so that the data begins at a multiple of 8 bytes, as the reference writes it.
func Format(entries []Entry, metadata map[string]string) ([]byte, error) {
	if len(metadata) > maxMetadataEntries {
		return nil, fmt.Errorf("found %d metadata entries, expected at most %d", len(metadata), maxMetadataEntries)
	}
	var about, fields []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if err := checkMetadata(key, metadata[key]); err != nil {
			return nil, err
		}
		about = append(about, quote(key)+":"+quote(metadata[key]))
	}
	if len(about) > 0 {
		fields = append(fields, quote(metadataKey)+":{"+strings.Join(about, ",")+"}")
	}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if seen[e.Name] {
			return nil, fmt.Errorf("tensor %q is given twice, expected unique names", e.Name)
		}
		seen[e.Name] = true
		shape := strings.ReplaceAll(fmt.Sprint(e.Shape), " ", ",")
		fields = append(fields, fmt.Sprintf(`%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, quote(e.Name), e.Type, shape, e.Begin, e.End))
	}
	header := "{" + strings.Join(fields, ",") + "}"
	header += strings.Repeat(" ", -len(header)&7) // the 8 bytes before the header keep the alignment
	if len(header) > maxHeader {
		return nil, fmt.Errorf("header needs %d bytes, expected at most %d", len(header), maxHeader)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), nil
}

// quote returns a string that has passed CheckName or checkMetadata as JSON.
func quote(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		panic("safetensors: a valid string cannot be written as JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parse returns the entries that a header lists, in the order of their data, and the metadata.
func parse(header []byte) ([]Entry, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("found bytes that are not UTF-8")
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("found no '{' at its beginning")
	}
	if text := bytes.TrimRight(header, " "); text[len(text)-1] != '}' {
		return nil, nil, errors.New("found no '}' and spaces at its end")
	}
	o, err := distinct(header)
	if err != nil {
		return nil, nil, err
	}
	var entries []Entry
	var metadata map[string]string
	for _, f := range o {
		if f.Key == metadataKey {
			if metadata, err = parseMetadata(f.Value); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err := CheckName(f.Key); err != nil {
			return nil, nil, err
		}
		entry, err := parseTensor(f.Key, f.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", f.Key, err)
		}
		entries = append(entries, entry)
	}
	// Ties (tensors without elements) are ordered by their end, so that an empty tensor comes
	// before the one that begins where it lies, and then by their place in the header.
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
	return entries, metadata, nil
}

// distinct reads an object, and refuses one that has a key twice.
func distinct(text []byte) (strictjson.Object, error) {
	o, err := strictjson.Read(text)
	if err == nil {
		err = o.Distinct()
	}
	return o, err
}

func parseMetadata(text []byte) (map[string]string, error) {
	o, err := distinct(text)
	if err != nil {
		return nil, err
	}
	if len(o) > maxMetadataEntries {
		return nil, fmt.Errorf("found more than %d metadata entries", maxMetadataEntries)
	}
	metadata := map[string]string{}
	for _, f := range o {
		value, ok := strictjson.Text(f.Value)
		if !ok {
			return nil, fmt.Errorf("metadata %.40q: found %.40s, expected a string", f.Key, f.Value)
		}
		if err := checkMetadata(f.Key, value); err != nil {
			return nil, err
		}
		metadata[f.Key] = value
	}
	return metadata, nil
}

// parseTensor reads the description of one tensor: exactly the three keys of the format.
func parseTensor(name string, text []byte) (Entry, error) {
	entry := Entry{Name: name}
	o, err := distinct(text)
	if err != nil {
		return entry, err
	}
	const three = `"dtype", "shape" and "data_offsets"`
	var offsets []int
	for _, f := range o {
		switch f.Key {
		case "dtype":
			if entry.Type, _ = strictjson.Text(f.Value); Types[entry.Type].Size == 0 {
				err = fmt.Errorf("found element type %.40s, expected one of %s", f.Value, NamesOf(Types))
			}
		case "shape":
			entry.Shape, err = integers(f.Value, maxTensorRank)
		case "data_offsets":
			if offsets, err = integers(f.Value, 2); err == nil && len(offsets) != 2 {
				err = fmt.Errorf("found %d data_offsets, expected 2", len(offsets))
			}
		default:
			err = fmt.Errorf("found key %.40q, expected %s", f.Key, three)
		}
		if err != nil {
			return entry, err
		}
	}
	if len(o) != 3 {
		return entry, fmt.Errorf("found %d keys, expected %s", len(o), three)
	}
	entry.Begin, entry.End = int64(offsets[0]), int64(offsets[1])
	elements, err := Elements(entry.Shape)
	if err != nil {
		return entry, err
	}
	if bytes := elements * int64(Types[entry.Type].Size); entry.End < entry.Begin || entry.End-entry.Begin != bytes {
		return entry, fmt.Errorf("found data_offsets [%d, %d], expected %d bytes for shape %v", entry.Begin, entry.End, bytes, entry.Shape)
	}
	return entry, nil
}

// integers returns the numbers in an array of at most limit non-negative integers, written plainly
// (no sign, fraction or exponent).
func integers(text []byte, limit int) ([]int, error) {
	var list []json.RawMessage
	if bytes.Count(text, []byte(",")) >= limit {
		return nil, fmt.Errorf("found more than %d integers in a list", limit)
	}
	if err := json.Unmarshal(text, &list); err != nil || list == nil {
		return nil, fmt.Errorf("found %.40s, expected a list of integers", text)
	}
	values := make([]int, len(list))
	for i, number := range list {
		v, err := strconv.ParseUint(string(number), 10, strconv.IntSize-1)
		if err != nil {
			return nil, fmt.Errorf("found %.40q, expected an integer from 0 to 2^%d-1", number, strconv.IntSize-1)
		}
		values[i] = int(v)
	}
	return values, nil
}

// CheckName refuses a tensor's name that not every reader of the format understands alike: empty,
// too long, "__metadata__" or no UTF-8. The replacement character is refused because the JSON
// decoder makes it out of every broken escape: two different names would become one.
func CheckName(name string) error {
	switch {
	case name == "" || name == metadataKey:
		return fmt.Errorf("found tensor name %q, expected the name of a parameter", name)
	case len(name) > maxTensorName:
		return fmt.Errorf("found a tensor name of %d bytes, expected at most %d", len(name), maxTensorName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError):
		return fmt.Errorf("tensor name %q is not valid UTF-8", name)
	}
	return nil
}

func checkMetadata(key, value string) error {
	for _, s := range []string{key, value} {
		if len(s) > maxMetadataString {
			return fmt.Errorf("metadata %.40q: found a string of %d bytes, expected at most %d", key, len(s), maxMetadataString)
		}
		if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
			return fmt.Errorf("metadata %.40q: not valid UTF-8", key)
		}
	}
	return nil
}

// widest is the size in bytes of the widest element that a reader takes.
const widest = 8

// Elements multiplies the dimensions, and refuses what does not fit into memory. A zero makes the
// product zero, but does not excuse an overflow to the left of it, as in the reference.
func Elements(shape []int) (int64, error) {
	if len(shape) > maxTensorRank {
		return 0, fmt.Errorf("found %d dimensions, expected at most %d", len(shape), maxTensorRank)
	}
	product := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d > 0 && product > math.MaxInt/widest/int64(d) {
			return 0, fmt.Errorf("shape %v has more elements than fit into memory", shape)
		}
		product *= int64(d)
	}
	return product, nil
}

// checkCoverage requires that the tensors, which come in the order of their data, fill it exactly.
func checkCoverage(entries []Entry, size int64) error {
	end := int64(0)
	for _, e := range entries {
		if e.Begin != end {
			return fmt.Errorf("tensor %q begins at byte %d of the data, expected %d (no hole, no overlap)", e.Name, e.Begin, end)
		}
		end = e.End
	}
	if end != size {
		return fmt.Errorf("found %d bytes of data, expected the %d that the header describes", size, end)
	}
	return nil
}
