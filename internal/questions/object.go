package questions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// field is a key of a JSON object with its value as it was written.
type field struct {
	key   string
	value json.RawMessage
}

// object is a JSON object in the order of its text. encoding/json on its own lets the last of two
// equal keys win, ignores case, and reads null as zero; and it would write numbers in another way
// than they came.
type object []field

// readObject reads exactly one object.
func readObject(text []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	token, err := dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("found an empty line, expected a JSON object")
	case err != nil || token != json.Delim('{'):
		return nil, fmt.Errorf("found %s, expected a JSON object", quote(text))
	}
	var o object
	for dec.More() {
		token, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("found no JSON object: %w", noEOF(err))
		}
		o = append(o, field{token.(string), value}) // the decoder allows no other key
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("found no JSON object: %w", noEOF(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("found text after the JSON object, expected one object a line")
	}
	return o, nil
}

// noEOF names the end of a line for what it is inside an object.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// quote shows the start of a text.
func quote(text []byte) string {
	const most = 40
	text = bytes.TrimSpace(text)
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

// get is the value of a key, or nil.
func (o object) get(key string) json.RawMessage {
	for _, f := range o {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// without leaves out a key.
func (o object) without(key string) object {
	return slices.DeleteFunc(slices.Clone(o), func(f field) bool { return f.key == key })
}

// MarshalJSON writes the object in its order, its values as they are.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(f.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// fields reads the values of an object. Its first error is kept.
type fields struct {
	object
	err error
}

func (f *fields) failf(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// only fails for a key that is repeated or none of the expected ones.
func (f *fields) only(expected []string) {
	seen := map[string]bool{}
	for _, one := range f.object {
		if seen[one.key] {
			f.failf("found the key %q twice, expected it once", one.key)
		}
		if !slices.Contains(expected, one.key) {
			f.failf("found the key %.40q, expected %s", one.key, strings.Join(expected, ", "))
		}
		seen[one.key] = true
	}
}

// number reads a number; otherwise stands for one that is not there.
func (f *fields) number(key string, otherwise float64) float64 {
	raw := f.get(key)
	if raw == nil {
		return otherwise
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		f.failf("found %q: %.40s, expected a number", key, raw)
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		f.failf("found %q: %.40s, expected a number in the range of float64", key, raw)
	}
	return x
}

// needed reads a number that must be there.
func (f *fields) needed(key, expected string) float64 {
	if f.get(key) == nil {
		f.failf("found no %q, expected %s", key, expected)
	}
	return f.number(key, 0)
}

// whole reads a whole number from 1 to most.
func (f *fields) whole(key string, most, otherwise int) int {
	x := f.number(key, float64(otherwise))
	if !(x >= 1 && x <= float64(most) && x == math.Trunc(x)) {
		f.failf("found %q: %.40s, expected a whole number from 1 to %d", key, f.get(key), most)
		return otherwise
	}
	return int(x)
}

// text reads a string.
func (f *fields) text(key, otherwise string) string {
	raw := f.get(key)
	if raw == nil {
		return otherwise
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		f.failf("found %q: %.40s, expected a string", key, raw)
	}
	return s
}
