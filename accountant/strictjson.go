package accountant

import (
	"fmt"
	"slices"
	"strconv"

	"dpsgd/internal/strictjson"
)

// object is a JSON object, its values still undecoded.
type object struct{ strictjson.Object }

// readObject reads exactly one object that has these keys and no others.
func readObject(data []byte, keys ...string) (object, error) {
	o, err := readAnyObject(data)
	if err != nil {
		return object{}, err
	}
	for _, f := range o.Object {
		if !slices.Contains(keys, f.Key) {
			return object{}, fmt.Errorf("%w: unknown key %q, want %q", ErrInvalid, f.Key, keys)
		}
	}
	for _, key := range keys {
		if o.Get(key) == nil {
			return object{}, fmt.Errorf("%w: key %q is missing", ErrInvalid, key)
		}
	}
	return o, nil
}

// readAnyObject reads exactly one object of any distinct keys.
func readAnyObject(data []byte) (object, error) {
	o, err := strictjson.Read(data)
	if err == nil {
		err = o.Distinct()
	}
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return object{o}, nil
}

// float64 returns the number under key. The decoder has checked the grammar of JSON
// values, so what begins like a number is neither hexadecimal nor NaN.
func (o object) float64(key string) (float64, error) {
	raw := string(o.Get(key))
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
	n, err := strconv.Atoi(string(o.Get(key)))
	if err != nil {
		return 0, fmt.Errorf("%w: %q is %.40s, want a whole number", ErrInvalid, key, o.Get(key))
	}
	return n, nil
}
