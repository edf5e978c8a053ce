package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsgd/checkpoints/internal/floats"
)

// metadataKey is the one key of a safetensors header that names no tensor.
const metadataKey = "__metadata__"

// tensorEntry is one tensor as the header describes it; begin and end count bytes of the data
// section.
type tensorEntry struct {
	name       string
	shape      []int
	begin, end int64
}

// formatHeader writes the header of entries, padded with spaces so that the data begins
// at a multiple of 8 bytes, as the reference writes it.
func formatHeader(entries []tensorEntry, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	separator := byte('{')
	field := func(key string) {
		b.WriteByte(separator)
		b.Write(quote(key))
		b.WriteByte(':')
		separator = ','
	}
	if len(metadata) > maxMetadataEntries {
		return nil, fmt.Errorf("found %d metadata entries, expected at most %d", len(metadata), maxMetadataEntries)
	}
	if len(metadata) > 0 {
		field(metadataKey)
		separator = '{'
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			if err := checkMetadata(key, metadata[key]); err != nil {
				return nil, err
			}
			field(key)
			b.Write(quote(metadata[key]))
		}
		b.WriteByte('}')
	}
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if seen[e.name] {
			return nil, fmt.Errorf("tensor %q is given twice, expected unique names", e.name)
		}
		seen[e.name] = true
		field(e.name)
		shape := strings.ReplaceAll(fmt.Sprint(e.shape), " ", ",")
		fmt.Fprintf(&b, `{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, shape, e.begin, e.end)
	}
	if b.Len() == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 { // the 8 bytes before the header keep the alignment
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("header needs %d bytes, expected at most %d", b.Len(), maxHeader)
	}
	return b.Bytes(), nil
}

// quote writes a string that has passed checkTensorName or checkMetadata as JSON.
func quote(s string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		panic("safetensors: a valid string cannot be written as JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A headerParser reads a safetensors header token by token. encoding/json's Unmarshal would take
// the last of two equal keys, match keys in another case, and round numbers; two readers of one
// file could then disagree about what it says.
type headerParser struct{ *json.Decoder }

// parseHeader returns the entries in the order of their data, and the metadata.
func parseHeader(header []byte) ([]tensorEntry, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("found bytes that are not UTF-8")
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("found no '{' at its beginning")
	}
	p := headerParser{json.NewDecoder(bytes.NewReader(header))}
	p.UseNumber()
	var (
		entries  []tensorEntry
		metadata map[string]string
	)
	err := p.object(func(key string) (err error) {
		if key == metadataKey {
			metadata, err = p.metadata()
			return err
		}
		if err := checkTensorName(key); err != nil {
			return err
		}
		entry, err := p.tensor(key)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", key, err)
		}
		entries = append(entries, entry)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimRight(header[p.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("found %d bytes after its end, expected only spaces", len(rest))
	}
	// Ties (tensors without elements) are ordered by their end, so that an empty tensor comes
	// before the one that begins where it lies, and then by their place in the header.
	slices.SortStableFunc(entries, func(a, b tensorEntry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	return entries, metadata, nil
}

// object reads an object and calls value for every key, each of which must be there once only.
func (p headerParser) object(value func(key string) error) error {
	if err := p.delimiter('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %.40q is there twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return p.delimiter('}')
}

func (p headerParser) metadata() (map[string]string, error) {
	metadata := map[string]string{}
	err := p.object(func(key string) error {
		value, err := p.text()
		if err != nil {
			return fmt.Errorf("metadata %.40q: %w", key, err)
		}
		if len(metadata) == maxMetadataEntries {
			return fmt.Errorf("found more than %d metadata entries", maxMetadataEntries)
		}
		metadata[key] = value
		return checkMetadata(key, value)
	})
	return metadata, err
}

// tensor reads the description of one tensor: exactly the three keys of the format.
func (p headerParser) tensor(name string) (tensorEntry, error) {
	entry := tensorEntry{name: name}
	keys := 0
	err := p.object(func(key string) (err error) {
		keys++
		switch key {
		case "dtype":
			var dtype string
			if dtype, err = p.text(); err == nil && dtype != "F32" {
				err = fmt.Errorf("found element type %.40q, expected \"F32\"", dtype)
			}
		case "shape":
			entry.shape, err = p.integers(maxTensorRank)
		case "data_offsets":
			var offsets []int
			if offsets, err = p.integers(2); err == nil && len(offsets) != 2 {
				err = fmt.Errorf("found %d data_offsets, expected 2", len(offsets))
			}
			if err == nil {
				entry.begin, entry.end = int64(offsets[0]), int64(offsets[1])
			}
		default:
			err = fmt.Errorf("found key %.40q, expected \"dtype\", \"shape\" and \"data_offsets\"", key)
		}
		return err
	})
	if err != nil {
		return entry, err
	}
	if keys != 3 {
		return entry, fmt.Errorf("found %d keys, expected \"dtype\", \"shape\" and \"data_offsets\"", keys)
	}
	elements, err := elementCount(entry.shape)
	if err != nil {
		return entry, err
	}
	if entry.end < entry.begin || entry.end-entry.begin != elements*floats.Size {
		return entry, fmt.Errorf("found data_offsets [%d, %d], expected %d bytes for shape %v",
			entry.begin, entry.end, elements*floats.Size, entry.shape)
	}
	return entry, nil
}

// integers reads an array of at most limit non-negative integers, written plainly (no sign,
// fraction or exponent).
func (p headerParser) integers(limit int) ([]int, error) {
	if err := p.delimiter('['); err != nil {
		return nil, err
	}
	values := []int{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, syntax(err)
		}
		number, ok := token.(json.Number)
		if !ok {
			return nil, fmt.Errorf("found %s, expected an integer", show(token))
		}
		v, err := strconv.ParseUint(number.String(), 10, strconv.IntSize-1)
		if err != nil {
			return nil, fmt.Errorf("found %.40q, expected an integer from 0 to 2^%d-1", number.String(), strconv.IntSize-1)
		}
		if len(values) == limit {
			return nil, fmt.Errorf("found more than %d integers in a list", limit)
		}
		values = append(values, int(v))
	}
	return values, p.delimiter(']')
}

func (p headerParser) text() (string, error) {
	token, err := p.Token()
	if err != nil {
		return "", syntax(err)
	}
	s, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("found %s at byte %d, expected a string", show(token), p.InputOffset())
	}
	return s, nil
}

func (p headerParser) delimiter(want json.Delim) error {
	token, err := p.Token()
	if err != nil {
		return syntax(err)
	}
	if token != want {
		return fmt.Errorf("found %s at byte %d, expected %v", show(token), p.InputOffset(), want)
	}
	return nil
}

// show prints a token for an error message, shortened: a hostile header may hold megabytes in one
// string.
func show(token json.Token) string {
	return fmt.Sprintf("%.40s", fmt.Sprint(token))
}

func syntax(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("found invalid JSON: %w", err)
}

// checkTensorName accepts what every reader of the format understands alike. The replacement
// character is refused because the JSON decoder makes it out of every broken escape: two different
// names would become one.
func checkTensorName(name string) error {
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
