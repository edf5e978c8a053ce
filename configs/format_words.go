package configs

// The forms of single values that only configurations have: free text, a choice with names that are
// refused, one of a few whole numbers, sizes of memory.

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsgd/internal/setting"
)

var (
	_ setting.Scalar = oneOf{}
	_ setting.Scalar = choiceBut{}
	_ setting.Scalar = freeText{}
	_ setting.Scalar = byteSize{}
)

// choiceBut is a choice with names that mean something elsewhere and cannot be chosen.
type choiceBut struct {
	setting.Choice
	Refused map[string]string // why, in a few words
}

// freeText is free text, stored in a *string.
type freeText struct {
	What    string // completes "expected …"
	Pattern string // a regular expression, the same for Go and JSON schemas
	Max     int    // runes
	Empty   bool   // "" is allowed
	Digits  bool   // a whole number needs no quotes
}

// Parse implements [setting.Scalar].
func (f freeText) Parse(s string, quoted bool, into any) bool {
	if !quoted && ambiguous(s) && !(f.Digits && isWhole(s)) ||
		s == "" && !f.Empty ||
		utf8.RuneCountInString(s) > f.Max ||
		strings.ContainsFunc(s, isControl) ||
		!regexp.MustCompile(f.Pattern).MatchString(s) {
		return false
	}
	*into.(*string) = s
	return true
}

// Encode implements [setting.Scalar].
func (freeText) Encode(from any) string { return formatText(*from.(*string)) }

// Expected implements [setting.Format].
func (f freeText) Expected() string {
	if f.Empty {
		return f.What + `, or ""`
	}
	return f.What
}

// Schema implements [setting.Format].
func (f freeText) Schema() setting.Object {
	o := setting.Object{"type", "string", "pattern", f.Pattern, "maxLength", f.Max}
	if f.Digits {
		return setting.Object{"anyOf", []setting.Object{o, {"type", "integer", "minimum", 0}}}
	}
	return o
}

// isWhole reports whether a text has digits alone.
func isWhole(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// oneOf is one of a few whole numbers, stored in a *int.
type oneOf []int

// Parse implements [setting.Scalar].
func (f oneOf) Parse(text string, quoted bool, into any) bool {
	for _, v := range f {
		if !quoted && text == strconv.Itoa(v) {
			*into.(*int) = v
			return true
		}
	}
	return false
}

// Encode implements [setting.Scalar].
func (f oneOf) Encode(from any) string { return strconv.Itoa(*from.(*int)) }

// Expected implements [setting.Format].
func (f oneOf) Expected() string {
	names := make([]string, len(f))
	for i, v := range f {
		names[i] = strconv.Itoa(v)
	}
	return strings.Join(names, " or ")
}

// Schema implements [setting.Format].
func (f oneOf) Schema() setting.Object { return setting.Object{"enum", []int(f)} }
