// Package strictjson reads JSON objects as they are written. encoding/json on its own lets the last
// of two equal keys win, ignores case, and reads null as zero: two readers of one text could then
// disagree about what it says, and a misread ledger would be a privacy loss that is not counted.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Field is a key of an object with its value as it was written, without space around it.
type Field struct {
	Key   string
	Value json.RawMessage
}

// Object is a JSON object in the order of its text. A key may be there twice: see
// [Object.Distinct].
type Object []Field

// ErrMore is the error of [Read] for text that goes on after the object.
var ErrMore = errors.New("found text after the JSON object, expected nothing")

// Read returns the object that text is. It refuses text that is anything else or more.
func Read(text []byte) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("found %s, expected a JSON object", quote(text))
	}
	var o Object
	for dec.More() {
		token, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return nil, broken(err)
		}
		o = append(o, Field{token.(string), value}) // the decoder allows no other key
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, broken(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrMore
	}
	return o, nil
}

// broken returns the error for an object that ends too early or cannot be read.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("found no JSON object: %w", err)
}

// quote returns the first 40 bytes of a text in quotes, for messages.
func quote(text []byte) string {
	const most = 40
	text = bytes.TrimSpace(text)
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}

// Get returns the first value of a key, or nil.
func (o Object) Get(key string) json.RawMessage {
	for _, f := range o {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Without returns a copy of the object without a key.
func (o Object) Without(key string) Object {
	return slices.DeleteFunc(slices.Clone(o), func(f Field) bool { return f.Key == key })
}

// Distinct returns an error if a key is there twice.
func (o Object) Distinct() error {
	seen := make(map[string]bool, len(o))
	for _, f := range o {
		if seen[f.Key] {
			return fmt.Errorf("found the key %.40q twice, expected it once", f.Key)
		}
		seen[f.Key] = true
	}
	return nil
}

// Text returns the string that a JSON value is; ok is false if the value is no string.
func Text(value json.RawMessage) (text string, ok bool) {
	ok = len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil
	return text, ok
}

// MarshalJSON writes the object in its order, its values as they are.
func (o Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(f.Key)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), f.Value...)
	}
	return append(b, '}'), nil
}
