package setting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Format is what one kind of value looks like.
type Format interface {
	// Expected completes "expected …".
	Expected() string
	// Schema returns the JSON schema of the value.
	Schema() Object
}

// Scalar is the format of a value that is written as one word or number.
type Scalar interface {
	Format
	// Parse stores the value that the text stands for in *into, whose type is the format's, and
	// reports whether the text is a value; if not, *into keeps what it has. Quoted is whether the
	// text stood in quotes.
	Parse(text string, quoted bool, into any) bool
	// Encode returns *from as YAML.
	Encode(from any) string
}

var (
	_ Scalar = Number{}
	_ Scalar = Integer{}
	_ Scalar = Boolean{}
	_ Scalar = Choice{}
)

// Number is a finite decimal number in an interval, stored in a *float64.
type Number struct {
	Min, Max         float64
	OpenMin, OpenMax bool   // the end itself is excluded
	Word             string // if not empty, a word that stands for 0, which is "not given"
	WordMeans        string // for the schema
}

// A number is written as in JSON. What other YAML readers also take for numbers (010, 1_000, 0x1F,
// +1, .5, 1:30) means different things to different readers.
var (
	numberPattern  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	integerPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// IsNumber reports whether text is a number as JSON writes it.
func IsNumber(text string) bool { return numberPattern.MatchString(text) }

// IsInteger reports whether text is a whole number as JSON writes it, without exponent.
func IsInteger(text string) bool { return integerPattern.MatchString(text) }

func (f Number) Parse(text string, quoted bool, into any) bool {
	if f.Word != "" && text == f.Word {
		*into.(*float64) = 0
		return true
	}
	if quoted || !IsNumber(text) {
		return false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || Underflows(text) || v < f.Min || v > f.Max || f.OpenMin && v == f.Min || f.OpenMax && v == f.Max {
		return false
	}
	*into.(*float64) = v + 0 // -0 is 0
	return true
}

// Underflows reports whether a number that is not 0 is too small for a float64.
func Underflows(number string) bool {
	v, err := strconv.ParseFloat(number, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	return err == nil && v == 0 && strings.ContainsAny(mantissa, "123456789")
}

// Encode returns the shortest decimal that reads back as the number. Numbers with an exponent are
// written as 1.0e-5, because readers of YAML 1.1 take 1e-5 for text.
func (f Number) Encode(from any) string {
	v := *from.(*float64)
	if f.Word != "" && v == 0 {
		return f.Word
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	mantissa, exponent, found := strings.Cut(s, "e")
	if !found {
		return s
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// plain returns the end of an interval for a message, with an exponent only below 1e-6.
func plain(v float64) string {
	if v != 0 && math.Abs(v) < 1e-6 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (f Number) Expected() string {
	return orWord("a number "+interval(plain(f.Min), plain(f.Max), f.OpenMin, f.OpenMax), f.Word)
}

func orWord(expected, word string) string {
	if word == "" {
		return expected
	}
	return expected + ", or " + word
}

// interval returns the words for an interval of numbers, such as "from 0 to 1".
func interval(min, max string, openMin, openMax bool) string {
	switch {
	case openMin && openMax:
		return "between " + min + " and " + max + ", both excluded"
	case openMin:
		return "greater than " + min + " and at most " + max
	case openMax:
		return "of at least " + min + " and less than " + max
	}
	return "from " + min + " to " + max
}

func (f Number) Schema() Object {
	minimum, maximum := "minimum", "maximum"
	if f.OpenMin {
		minimum = "exclusiveMinimum"
	}
	if f.OpenMax {
		maximum = "exclusiveMaximum"
	}
	return withWord(Object{"type", "number", minimum, f.Min, maximum, f.Max}, f.Word, f.WordMeans)
}

func withWord(s Object, word, means string) Object {
	if word == "" {
		return s
	}
	return Object{"anyOf", []Object{s, {"const", word, "description", means}}}
}

// Integer is a whole number in an interval, stored in a *int or a *uint64.
type Integer struct {
	Min, Max  int64
	Word      string // if not empty, a word that stands for WordValue in a *int
	WordValue int
	WordMeans string // for the schema
}

func (f Integer) Parse(text string, quoted bool, into any) bool {
	if p, ok := into.(*int); ok && f.Word != "" && text == f.Word {
		*p = f.WordValue
		return true
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || quoted || !IsInteger(text) || v < f.Min || v > f.Max {
		return false
	}
	switch p := into.(type) {
	case *int:
		*p = int(v)
	case *uint64:
		*p = uint64(v)
	}
	return true
}

func (f Integer) Encode(from any) string {
	switch p := from.(type) {
	case *uint64:
		return strconv.FormatUint(*p, 10)
	case *int:
		if f.Word != "" && *p == f.WordValue {
			return f.Word
		}
		return strconv.Itoa(*p)
	}
	panic(fmt.Sprintf("setting: an integer cannot be stored in a %T", from))
}

func (f Integer) Expected() string {
	return orWord("a whole number "+interval(strconv.FormatInt(f.Min, 10), strconv.FormatInt(f.Max, 10), false, false), f.Word)
}

func (f Integer) Schema() Object {
	return withWord(Object{"type", "integer", "minimum", f.Min, "maximum", f.Max}, f.Word, f.WordMeans)
}

// Size is a height and a width.
type Size struct{ Height, Width int }

// String returns one number if height and width are equal, and both otherwise, as in 28×32.
func (s Size) String() string {
	if s.Height == s.Width {
		return strconv.Itoa(s.Height)
	}
	return fmt.Sprintf("%d×%d", s.Height, s.Width)
}

// Sizes is a height and a width, or one number for both, stored in a *[Size]. Package configs reads
// and writes it, as a list is no one word.
type Sizes struct{ Of Integer }

func (f Sizes) Expected() string { return f.Of.Expected() + ", or [height, width]" }

func (f Sizes) Schema() Object {
	pair := Object{"type", "array", "items", f.Of.Schema(), "minItems", 2, "maxItems", 2}
	return Object{"anyOf", []Object{f.Of.Schema(), pair}}
}

// Boolean is true or false, stored in a *bool.
type Boolean struct {
	Negated bool // true is stored as false, for a bool whose zero value is not the default
}

func (f Boolean) Parse(text string, quoted bool, into any) bool {
	if quoted || text != "true" && text != "false" {
		return false
	}
	*into.(*bool) = (text == "true") != f.Negated
	return true
}

func (f Boolean) Encode(from any) string { return strconv.FormatBool(*from.(*bool) != f.Negated) }
func (Boolean) Expected() string         { return "true or false" }
func (Boolean) Schema() Object           { return Object{"type", "boolean"} }

// Choice is one of a list of plain words, stored in a *string.
type Choice []string

func (f Choice) Parse(text string, _ bool, into any) bool {
	if !slices.Contains(f, text) {
		return false
	}
	*into.(*string) = text
	return true
}

// Encode returns the chosen word. Where nothing was chosen it returns an empty text in quotes: the
// hashes of the plans of runs and of the trials of sweeps are made of such text.
func (Choice) Encode(from any) string { return cmp.Or(*from.(*string), `""`) }

func (f Choice) Expected() string {
	if len(f) == 1 {
		return f[0]
	}
	return "one of " + strings.Join(f, ", ")
}

func (f Choice) Schema() Object { return Object{"enum", []string(f)} }

// Names lists what can be chosen.
func (f Choice) Names() []string { return f }

// Object is a JSON object that keeps the order of its members: keys and values in turn.
type Object []any

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, v := range o {
		switch {
		case i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
