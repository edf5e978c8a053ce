package configs

// The forms of single values that only configurations have: free text, a choice with names that are
// refused, one of a few whole numbers, sizes of memory.

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsgd/internal/setting"
)

// choiceBut is a choice with further names that are refused, each with a reason.
type choiceBut struct {
	setting.Choice
	Refused map[string]string // maps a refused name to the reason, in a few words
}

// accountants is the choice of an accountant: each bounds ε of Poisson-sampled Gaussian noise.
var accountants = choiceBut{
	Choice: setting.Choice{"exact", "pld", "rdp"},
	Refused: map[string]string{
		"gdp":      "gdp is an approximation and no bound",
		"zcdp":     "zcdp knows nothing of sampled batches",
		"basic":    "composition of (epsilon, delta) alone is far too loose",
		"advanced": "composition of (epsilon, delta) alone is far too loose",
		"optimal":  "composition of (epsilon, delta) alone is far too loose",
	},
}

// Formats of names and paths. Names of runs and classes become folders, on every system.
var (
	runName   = freeText{What: "a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter, a digit or '_'", Pattern: `^([A-Za-z0-9_][A-Za-z0-9._-]*)?$`, Max: 64, Empty: true}
	className = freeText{What: "the name of a folder", Pattern: `^[^./\\:*?"<>|][^/\\:*?"<>|]*$`, Max: 100}
	folder    = freeText{What: "the path of a folder", Pattern: `^.+$`, Max: 4096}

	layerName  = freeText{What: "the name of a layer or parameter, such as 0 or 0.weight", Pattern: `^[A-Za-z0-9_.]+$`, Max: 200, Digits: true}
	weightFile = freeText{What: "the path of a .safetensors file", Pattern: `^$|\.safetensors$`, Max: 4096, Empty: true}

	tokenizerFile = freeText{What: "the path of a .json file", Pattern: `^$|\.json$`, Max: 4096, Empty: true}

	columnName = freeText{What: "the name of a column", Pattern: `^\S.*$`, Max: 200}
	groupName  = freeText{What: "the name of a column, or prefix", Pattern: `^(\S.*)?$`, Max: 200, Empty: true}
	labelValue = freeText{What: "a value of the label column", Pattern: `^\S.*$`, Max: 100}
)

// freeText is the format of free text, stored in a *string.
type freeText struct {
	What    string // completes "expected …"
	Pattern string // a regular expression, the same for Go and JSON schemas
	Max     int    // runes
	Empty   bool   // "" is allowed
	Digits  bool   // a whole number needs no quotes
}

func (f freeText) Parse(s string, quoted bool, into any) bool {
	if !quoted && ambiguous(s) && !(f.Digits && strings.Trim(s, "0123456789") == "") ||
		s == "" && !f.Empty ||
		utf8.RuneCountInString(s) > f.Max ||
		strings.ContainsFunc(s, isControl) ||
		!regexp.MustCompile(f.Pattern).MatchString(s) {
		return false
	}
	*into.(*string) = s
	return true
}

func (freeText) Encode(from any) string { return formatText(*from.(*string)) }

func (f freeText) Expected() string {
	if f.Empty {
		return f.What + `, or ""`
	}
	return f.What
}

func (f freeText) Schema() setting.Object {
	o := setting.Object{"type", "string", "pattern", f.Pattern, "maxLength", f.Max}
	if f.Digits {
		return setting.Object{"anyOf", []setting.Object{o, {"type", "integer", "minimum", 0}}}
	}
	return o
}

// oneOf is the format of one of a few whole numbers, stored in a *int.
type oneOf []int

func (f oneOf) Parse(text string, quoted bool, into any) bool {
	i := slices.IndexFunc(f, func(v int) bool { return !quoted && text == strconv.Itoa(v) })
	if i >= 0 {
		*into.(*int) = f[i]
	}
	return i >= 0
}

func (f oneOf) Encode(from any) string { return strconv.Itoa(*from.(*int)) }

func (f oneOf) Expected() string {
	return setting.Or(strings.Fields(strings.Trim(fmt.Sprint([]int(f)), "[]")))
}

func (f oneOf) Schema() setting.Object { return setting.Object{"enum", []int(f)} }

// byteSize is the format of a size of memory in bytes, stored in an *int64. Files have it with a
// unit, such as 8GiB.
type byteSize struct{ Word string } // Word is what stands for 0

// units lists the units of a size: powers of two, then powers of ten, the largest of each first.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}}

func (f byteSize) Parse(text string, _ bool, into any) bool {
	if text == f.Word {
		*into.(*int64) = 0
		return true
	}
	for _, u := range units {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 64)
		if err != nil || n < 1 || n > math.MaxInt64/u.bytes || strings.HasPrefix(digits, "+") {
			return false
		}
		*into.(*int64) = n * u.bytes
		return true
	}
	return false
}

// Encode writes a size with the first unit in units that leaves no remainder.
func (f byteSize) Encode(from any) string {
	n := *from.(*int64)
	if n == 0 {
		return f.Word
	}
	for _, u := range units {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) // of no unit that can be read
}

func (f byteSize) Expected() string { return "a size such as 8GiB or 500MB, or " + f.Word }

func (f byteSize) Schema() setting.Object {
	return setting.Object{"type", "string", "pattern", "^(" + f.Word + "|[1-9][0-9]* ?[KMGT]i?B)$"}
}
