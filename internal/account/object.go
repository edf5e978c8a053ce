package account

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsgd/internal/strictjson"
)

type (
	object = strictjson.Object
	field  = strictjson.Field
)

func readObject(text []byte) (object, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("found an empty line, expected a JSON object")
	}
	o, err := strictjson.Read(text)
	if errors.Is(err, strictjson.ErrMore) {
		err = errors.New("found text after the JSON object, expected one object a line")
	}
	return o, err
}

// fields reads the values of an object, and keeps the first error in err.
type fields struct {
	object
	err error
}

func (f *fields) failf(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// only sets err if a key is repeated, or is none of the expected ones.
func (f *fields) only(expected []string) {
	if err := f.Distinct(); err != nil {
		f.failf("%w", err)
	}
	for _, one := range f.object {
		if !slices.Contains(expected, one.Key) {
			f.failf("found the key %.40q, expected %s", one.Key, strings.Join(expected, ", "))
		}
	}
}

// number reads a number, or returns otherwise if the key is missing.
func (f *fields) number(key string, otherwise float64) float64 {
	raw := f.Get(key)
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
	if f.Get(key) == nil {
		f.failf("found no %q, expected %s", key, expected)
	}
	return f.number(key, 0)
}

// whole reads a whole number from 1 to most, or returns otherwise if the key is missing.
func (f *fields) whole(key string, most, otherwise int) int {
	x := f.number(key, float64(otherwise))
	if !(x >= 1 && x <= float64(most) && x == math.Trunc(x)) {
		f.failf("found %q: %.40s, expected a whole number from 1 to %d", key, f.Get(key), most)
		return otherwise
	}
	return int(x)
}

// text reads a string, or returns otherwise if the key is missing.
func (f *fields) text(key, otherwise string) string {
	raw := f.Get(key)
	if raw == nil {
		return otherwise
	}
	s, ok := strictjson.Text(raw)
	if !ok {
		f.failf("found %q: %.40s, expected a string", key, raw)
	}
	return s
}

// above reads a finite number above 0 that must be there.
func (f *fields) above(key string) float64 {
	x := f.needed(key, "a number above 0")
	if f.err == nil && !(x > 0 && !math.IsInf(x, 1)) {
		f.failf("found %q: %.40s, expected a number above 0", key, f.Get(key))
	}
	return x
}

func (f *fields) count(key string) int {
	f.needed(key, "a whole number")
	return f.whole(key, MostSteps, 1)
}
