package score

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Test is how a model does on the test examples, in the one number by which runs are compared.
type Test struct {
	TestAccuracy Value `json:"test_accuracy"`       // share that is right, of examples or of all their labels; NaN of numbers, and of a model that diverged
	TestError    Value `json:"test_error,omitzero"` // mean absolute error of numbers; 0 of anything else
}

// Value is a number, or NaN for none, which is null in JSON.
type Value float64

func (v Value) MarshalJSON() ([]byte, error) {
	if v.None() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

func (v *Value) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// None reports whether there is no number.
func (v Value) None() bool { return math.IsNaN(float64(v)) }

// Untested is the Test of a model that has none.
func Untested() Test { return Test{TestAccuracy: Value(math.NaN())} }

// OfError returns the Test of a model of numbers.
func OfError(mean float64) Test { return Test{Value(math.NaN()), Value(mean)} }

// None reports whether there is no number.
func (t Test) None() bool { return t.TestAccuracy.None() && !t.Numbers() }

// Numbers reports whether the model learns numbers, of which TestError is the error.
func (t Test) Numbers() bool { return t.TestError != 0 }

// Name returns the words for the number.
func (t Test) Name() string {
	if t.Numbers() {
		return "mean test error"
	}
	return "test accuracy"
}

// String returns the number for people: a share in percent, an error with four digits, or "–".
func (t Test) String() string {
	switch {
	case t.None():
		return "–"
	case t.Numbers():
		return strconv.FormatFloat(float64(t.TestError), 'g', 4, 64)
	}
	return strconv.FormatFloat(100*float64(t.TestAccuracy), 'f', 2, 64) + " %"
}

// Short returns String with one decimal of a share, for a line about progress.
func (t Test) Short() string {
	if t.None() || t.Numbers() {
		return t.String()
	}
	return strconv.FormatFloat(100*float64(t.TestAccuracy), 'f', 1, 64) + " %"
}

// Bare returns String without a unit, for a column of a table.
func (t Test) Bare() string { return strings.TrimSuffix(t.String(), " %") }

// Quality returns a number that is larger for a better model: the accuracy, or less than nothing by
// the error. It is NaN where there is none.
func (t Test) Quality() float64 {
	if t.Numbers() {
		return -float64(t.TestError)
	}
	return float64(t.TestAccuracy)
}

// OfQuality returns the Test with that quality, of the same sort as t.
func (t Test) OfQuality(quality float64) Test {
	if t.Numbers() {
		return OfError(-quality)
	}
	return Test{TestAccuracy: Value(quality)}
}
