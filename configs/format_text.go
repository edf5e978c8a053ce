package configs

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"dpsgd/configs/internal/source"
	"dpsgd/internal/setting"
)

// choiceBut is a choice with names that mean something elsewhere and cannot be chosen.
type choiceBut struct {
	setting.Choice
	refused map[string]string // why, in a few words
}

// accountants can account for a run: they bound ε of Poisson-sampled Gaussian noise.
var accountants = choiceBut{
	setting.Choice{"exact", "pld", "rdp"},
	map[string]string{
		"gdp":      "gdp is an approximation and no bound",
		"zcdp":     "zcdp knows nothing of sampled batches",
		"basic":    "composition of (epsilon, delta) alone is far too loose",
		"advanced": "composition of (epsilon, delta) alone is far too loose",
		"optimal":  "composition of (epsilon, delta) alone is far too loose",
	},
}

// text is free text, stored in a *string.
type text struct {
	what    string // completes "expected …"
	pattern string // a regular expression, the same for Go and JSON schemas
	max     int    // runes
	empty   bool   // "" is allowed
}

// Names become folders, on every operating system; those of columns and labels stand in a table.
var (
	runName   = text{what: "a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_'", pattern: `^([A-Za-z0-9_][A-Za-z0-9._-]*)?$`, max: 64, empty: true}
	className = text{what: "the name of a folder", pattern: `^[^./\\:*?"<>|][^/\\:*?"<>|]*$`, max: 100}
	folder    = text{what: "the path of a folder", pattern: `^.+$`, max: 4096}

	columnName = text{what: "the name of a column", pattern: `^\S.*$`, max: 200}
	labelValue = text{what: "a value of the label column", pattern: `^\S.*$`, max: 100}
)

func (f text) Parse(s string, quoted bool, into any) bool {
	if !quoted && source.Ambiguous(s) ||
		s == "" && !f.empty ||
		utf8.RuneCountInString(s) > f.max ||
		strings.ContainsFunc(s, source.IsControl) ||
		!regexp.MustCompile(f.pattern).MatchString(s) {
		return false
	}
	*into.(*string) = s
	return true
}

func (text) Encode(from any) string { return source.FormatText(*from.(*string)) }

func (f text) Expected() string {
	if f.empty {
		return f.what + `, or ""`
	}
	return f.what
}

func (f text) Schema() setting.Object {
	return setting.Object{"type", "string", "pattern", f.pattern, "maxLength", f.max}
}
