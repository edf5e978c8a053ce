package configs

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"dpsgd/internal/setting"
)

// hint explains, in a few words, what is wrong with a value that its format refuses. It may be
// empty.
func hint(f setting.Scalar, n *node) string {
	if n.kind != scalar {
		return ""
	}
	if but, ok := f.(choiceBut); ok && but.refused[n.text] != "" {
		return but.refused[n.text]
	}
	switch f := f.(type) {
	case setting.Number:
		return rangeHint(n)
	case setting.Integer:
		return integerHint(n)
	case oneOf:
		return numberHint(n)
	case setting.Boolean:
		return booleanHint(n)
	case text:
		if !n.quoted && ambiguous(n.text) {
			return "put it in quotes if it is meant as text"
		}
	case interface{ Names() []string }:
		if names := f.Names(); len(names) > 1 {
			return didYouMean(nearest(n.text, names))
		}
	}
	return ""
}

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
	case n.kind != scalar:
	case n.quoted && setting.IsNumber(n.text):
		return "write it without quotes"
	case !n.quoted:
		for _, h := range hints {
			if h.pattern.MatchString(n.text) {
				return h.hint
			}
		}
	}
	return ""
}

// rangeHint also says when a number is beyond what a float64 holds.
func rangeHint(n *node) string {
	if !n.quoted && setting.IsNumber(n.text) {
		if _, err := strconv.ParseFloat(n.text, 64); err != nil {
			return "too large for a number"
		}
		if setting.Underflows(n.text) {
			return "too small for a number"
		}
	}
	return numberHint(n)
}

// integerHint also shows the whole number that 1e3 or 8.0 stands for.
func integerHint(n *node) string {
	if n.kind == scalar && !n.quoted && setting.IsNumber(n.text) && !setting.IsInteger(n.text) {
		v, err := strconv.ParseFloat(n.text, 64)
		if err == nil && v == math.Trunc(v) && math.Abs(v) <= maxExactInteger {
			return "write " + strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return numberHint(n)
}

func booleanHint(n *node) string {
	switch strings.ToLower(n.text) {
	case "yes", "on", "true":
		return "write true"
	case "no", "off", "false":
		return "write false"
	}
	return ""
}
