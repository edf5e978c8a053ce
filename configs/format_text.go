package configs

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

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
	if !quoted && ambiguous(s) ||
		s == "" && !f.empty ||
		utf8.RuneCountInString(s) > f.max ||
		strings.ContainsFunc(s, isControl) ||
		!regexp.MustCompile(f.pattern).MatchString(s) {
		return false
	}
	*into.(*string) = s
	return true
}

func (text) Encode(from any) string { return formatText(*from.(*string)) }

func (f text) Expected() string {
	if f.empty {
		return f.what + `, or ""`
	}
	return f.what
}

func (f text) Schema() setting.Object {
	return setting.Object{"type", "string", "pattern", f.pattern, "maxLength", f.max}
}

// ambiguous reports whether some YAML reader takes the plain scalar s for something else than text.
func ambiguous(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "~", ".inf", "-.inf", "+.inf", ".nan":
		return true
	}
	digits := strings.ReplaceAll(s, "_", "")
	if !strings.ContainsAny(digits, "0123456789") {
		return false
	}
	_, floatErr := strconv.ParseFloat(digits, 64)
	_, intErr := strconv.ParseInt(digits, 0, 64)
	return floatErr == nil || intErr == nil || regexp.MustCompile(`^[-+]?[0-9.:_-]+$`).MatchString(s)
}

var plainText = regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9_./-]*$`)

// formatText returns s as a YAML scalar: plain where that is safe, else in double quotes.
func formatText(s string) string {
	if plainText.MatchString(s) && !ambiguous(s) {
		return s
	}
	quoted, err := json.Marshal(s) // JSON strings are YAML's double-quoted scalars
	if err != nil {
		panic("configs: a string has no JSON form: " + err.Error())
	}
	return string(quoted)
}
