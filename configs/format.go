package configs

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// format is what one kind of value looks like in YAML, both ways. Everything that is said about a
// value, in messages, the JSON schema and the reference, comes from its format.
type format interface {
	// decode stores the value of n in *into, or reports why not and returns false. The type of
	// into is the format's own; the table of fields pairs them.
	decode(r *report, n *node, key string, into any) bool
	// encode returns *from as YAML in one line.
	encode(from any) string
	// expected completes "expected …".
	expected() string
	// schema returns the JSON schema of the value.
	schema() object
}

var (
	_ format = number{}
	_ format = integer{}
	_ format = oneOf{}
	_ format = boolean{}
	_ format = choice{}
	_ format = choiceBut{}
	_ format = text{}
	_ format = numbers{}
	_ format = texts{}
	_ format = sizes{}
	_ format = layerList{}
)

// number is a finite decimal number in an interval, stored in a *float64.
type number struct {
	min, max         float64
	openMin, openMax bool   // the end itself is excluded
	word             string // if not empty, a word that stands for 0, which is "not given"
	wordMeans        string
}

// A number is written as in JSON. What other YAML readers also take for numbers (010, 1_000, 0x1F,
// +1, .5, 1:30) means different things to different readers, so it is refused with a hint.
var (
	numberPattern  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	integerPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

func (f number) decode(r *report, n *node, key string, into any) bool {
	if f.word != "" && n.kind == scalar && n.text == f.word {
		*into.(*float64) = 0
		return true
	}
	if n.kind != scalar || n.quoted || !numberPattern.MatchString(n.text) {
		r.expected(n, key, f.expected(), numberHint(n))
		return false
	}
	v, err := strconv.ParseFloat(n.text, 64)
	switch {
	case err != nil: // the only error left is a value beyond the largest float64
		r.expected(n, key, f.expected(), "too large for a number")
		return false
	case v == 0 && strings.ContainsAny(mantissa(n.text), "123456789"):
		r.expected(n, key, f.expected(), "too small for a number")
		return false
	case v < f.min || v > f.max || f.openMin && v == f.min || f.openMax && v == f.max:
		r.expected(n, key, f.expected(), "")
		return false
	}
	*into.(*float64) = v + 0 // -0 is 0
	return true
}

func mantissa(number string) string {
	m, _, _ := strings.Cut(strings.ToLower(number), "e")
	return m
}

func (f number) encode(from any) string {
	v := *from.(*float64)
	if f.word != "" && v == 0 {
		return f.word
	}
	return formatNumber(v)
}

// formatNumber returns the shortest decimal that reads back as v. Numbers with an exponent are
// written as 1.0e-5, because readers of YAML 1.1 take 1e-5 for text.
func formatNumber(v float64) string {
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

// plainNumber writes the end of an interval for a message.
func plainNumber(v float64) string {
	if v != 0 && math.Abs(v) < 1e-6 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (f number) expected() string {
	s := "a number " + interval(plainNumber(f.min), plainNumber(f.max), f.openMin, f.openMax)
	if f.word != "" {
		s += ", or " + f.word
	}
	return s
}

// interval says which numbers are meant.
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

func (f number) schema() object {
	s := object{{"type", "number"}}
	s = append(s, bound("minimum", "exclusiveMinimum", f.min, f.openMin), bound("maximum", "exclusiveMaximum", f.max, f.openMax))
	if f.word != "" {
		return object{{"anyOf", []object{s, {{"const", f.word}, {"description", f.wordMeans}}}}}
	}
	return s
}

func bound(closed, open string, value float64, isOpen bool) member {
	if isOpen {
		return member{open, value}
	}
	return member{closed, value}
}

// integer is a whole number in an interval, stored in a *int or a *uint64.
type integer struct {
	min, max  int64
	word      string // if not empty, a word that stands for wordValue
	wordValue int
	wordMeans string
}

func (f integer) decode(r *report, n *node, key string, into any) bool {
	if p, ok := into.(*int); ok && f.word != "" && n.kind == scalar && n.text == f.word {
		*p = f.wordValue
		return true
	}
	if n.kind != scalar || n.quoted || !integerPattern.MatchString(n.text) {
		r.expected(n, key, f.expected(), integerHint(n))
		return false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < f.min || v > f.max {
		r.expected(n, key, f.expected(), "")
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

func (f integer) encode(from any) string {
	switch p := from.(type) {
	case *uint64:
		return strconv.FormatUint(*p, 10)
	case *int:
		if f.word != "" && *p == f.wordValue {
			return f.word
		}
		return strconv.Itoa(*p)
	}
	panic(fmt.Sprintf("configs: an integer cannot be stored in a %T", from))
}

func (f integer) expected() string {
	s := "a whole number " + interval(strconv.FormatInt(f.min, 10), strconv.FormatInt(f.max, 10), false, false)
	if f.word != "" {
		s += ", or " + f.word
	}
	return s
}

func (f integer) schema() object {
	s := object{{"type", "integer"}, {"minimum", f.min}, {"maximum", f.max}}
	if f.word != "" {
		return object{{"anyOf", []object{s, {{"const", f.word}, {"description", f.wordMeans}}}}}
	}
	return s
}

// oneOf is one of a few whole numbers, stored in a *int.
type oneOf []int

func (f oneOf) decode(r *report, n *node, key string, into any) bool {
	for _, v := range f {
		if n.kind == scalar && !n.quoted && n.text == strconv.Itoa(v) {
			*into.(*int) = v
			return true
		}
	}
	r.expected(n, key, f.expected(), numberHint(n))
	return false
}

func (f oneOf) encode(from any) string { return strconv.Itoa(*from.(*int)) }

func (f oneOf) expected() string {
	names := make([]string, len(f))
	for i, v := range f {
		names[i] = strconv.Itoa(v)
	}
	return strings.Join(names, " or ")
}

func (f oneOf) schema() object { return object{{"enum", []int(f)}} }

// boolean is true or false, stored in a *bool.
type boolean struct{}

func (f boolean) decode(r *report, n *node, key string, into any) bool {
	if n.kind != scalar || n.quoted || n.text != "true" && n.text != "false" {
		hint := ""
		switch strings.ToLower(n.text) {
		case "yes", "on", "true":
			hint = "write true"
		case "no", "off", "false":
			hint = "write false"
		}
		r.expected(n, key, f.expected(), hint)
		return false
	}
	*into.(*bool) = n.text == "true"
	return true
}

func (boolean) encode(from any) string { return strconv.FormatBool(*from.(*bool)) }
func (boolean) expected() string       { return "true or false" }
func (boolean) schema() object         { return object{{"type", "boolean"}} }

// hints explain the traps of YAML numbers; the first pattern that matches is used.
var hints = []struct {
	pattern *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`^[-+]?0[0-9_]+$`), "a leading zero means octal to some readers"},
	{regexp.MustCompile(`^[-+]?0[xob]`), "write it in decimal"},
	{regexp.MustCompile(`^[-+]?[0-9][0-9_]*_[0-9_.]*$`), "write it without underscores"},
	{regexp.MustCompile(`^[-+]?[0-9]+,[0-9]`), "write it without a comma"},
	{regexp.MustCompile(`^\+`), "write it without a plus sign"},
	{regexp.MustCompile(`^-?\.[0-9]`), "write a digit before the point"},
	{regexp.MustCompile(`^-?[0-9]+\.([eE]|$)`), "write a digit after the point"},
	{regexp.MustCompile(`(?i)^[-+]?\.?(inf|infinity|nan)$`), "it must be finite"},
	{regexp.MustCompile(`^-?[0-9.]+%$`), "write 0.01 for 1%"},
}

func numberHint(n *node) string {
	switch {
	case n.kind == scalar && n.quoted && numberPattern.MatchString(n.text):
		return "write it without quotes"
	case n.kind == scalar && !n.quoted:
		for _, h := range hints {
			if h.pattern.MatchString(n.text) {
				return h.hint
			}
		}
	}
	return ""
}

// integerHint also shows the whole number that 1e3 or 8.0 stands for.
func integerHint(n *node) string {
	if n.kind == scalar && !n.quoted && numberPattern.MatchString(n.text) && !integerPattern.MatchString(n.text) {
		v, err := strconv.ParseFloat(n.text, 64)
		if err == nil && v == math.Trunc(v) && math.Abs(v) <= maxExactInteger {
			return "write " + strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return numberHint(n)
}
