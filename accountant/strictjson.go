package accountant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// object is a JSON object, its values still undecoded. encoding/json on its own
// lets the last of two equal keys win, ignores case, and reads null as zero: a
// ledger that is misread is a privacy loss that is not counted, so objects are
// read token by token here.
type object map[string]json.RawMessage

// readObject reads exactly one object that has these keys and no others.
func readObject(data []byte, keys ...string) (object, error) {
	o, err := readAnyObject(data)
	if err != nil {
		return nil, err
	}
	for key := range o {
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("%w: unknown key %q, want %q", ErrInvalid, key, keys)
		}
	}
	for _, key := range keys {
		if _, ok := o[key]; !ok {
			return nil, fmt.Errorf("%w: key %q is missing", ErrInvalid, key)
		}
	}
	return o, nil
}

// readAnyObject reads exactly one object of any distinct keys.
func readAnyObject(data []byte) (object, error) {
	o, err := readTokens(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return o, nil
}

func readTokens(data []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if token, err := dec.Token(); err != nil {
		return nil, noEOF(err)
	} else if token != json.Delim('{') {
		return nil, fmt.Errorf("found %.20q, want an object", fmt.Sprint(token))
	}
	o := object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, noEOF(err)
		}
		key := token.(string) // the decoder allows nothing else here
		if _, ok := o[key]; ok {
			return nil, fmt.Errorf("key %q appears twice", key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, noEOF(err)
		}
		o[key] = value
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, noEOF(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the end of the object")
	}
	return o, nil
}

// noEOF names the end of the input for what it is inside an object.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// float64 returns the number under key. The decoder has checked the grammar of
// JSON numbers, so hexadecimal and NaN cannot come this far.
func (o object) float64(key string) (float64, error) {
	raw := string(o[key])
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		return 0, fmt.Errorf("%w: %q is %.40s, want a number", ErrInvalid, key, raw)
	}
	x, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is %.40s, outside the range of float64", ErrInvalid, key, raw)
	}
	return x, nil
}

// int returns the whole number under key, written without fraction or exponent.
func (o object) int(key string) (int, error) {
	n, err := strconv.Atoi(string(o[key]))
	if err != nil {
		return 0, fmt.Errorf("%w: %q is %.40s, want a whole number", ErrInvalid, key, o[key])
	}
	return n, nil
}
