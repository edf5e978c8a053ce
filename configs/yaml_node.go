package configs

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsgd/internal/setting"
)

// nodeKind is the form of a YAML value, before anyone asks for a type.
type nodeKind int

// The kinds of values.
const (
	scalarNode nodeKind = iota
	listNode
	mappingNode
	nullNode
	brokenNode // refused while reading; already reported
)

// node is a YAML value of the plain kind that a configuration may hold: no anchors, aliases,
// merge keys, tags, block text or several documents. A scalar keeps the characters of the source,
// so that "010", "1_000" or "yes" are never read as something that the writer did not see.
type node struct {
	Kind    nodeKind
	Text    string // scalar: its characters, without quotes
	Quoted  bool   // scalar: written in quotes
	At      Position
	Entries []entry // mapping, in file order, keys distinct
	Items   []*node // list
}

// entry is one key of a mapping.
type entry struct {
	Key   string
	At    Position // of the key
	Value *node
}

// Describe returns the kind of the value, or a scalar's text, as messages say it after "found".
func (n *node) Describe() string {
	switch {
	case n.Kind == listNode && len(n.Items) == 0:
		return "an empty list"
	case n.Kind == listNode:
		return fmt.Sprintf("a list of %d", len(n.Items))
	case n.Kind == mappingNode:
		return "a mapping"
	case n.Kind == nullNode && n.Text == "":
		return "nothing"
	case n.Quoted:
		return fmt.Sprintf("the text %q", shorten(n.Text))
	default:
		return printable(n.Text)
	}
}

// maxExactInteger is the largest integer that every reader of YAML and JSON keeps exactly.
const maxExactInteger = 1<<53 - 1

// hinted returns a message with a hint behind it, in parentheses. The hint may be empty.
func hinted(message, hint string) string {
	if hint == "" {
		return message
	}
	return message + " (" + hint + ")"
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

// SpellingHint returns what is wrong with the spelling of a number, or "" if that is not known.
func (n *node) SpellingHint() string {
	switch {
	case n.Kind != scalarNode:
	case n.Quoted && setting.IsNumber(n.Text):
		return "write it without quotes"
	case !n.Quoted:
		for _, h := range hints {
			if h.pattern.MatchString(n.Text) {
				return h.hint
			}
		}
	}
	return ""
}

// IntegerHint returns how to write the whole number that 1e3 or 8.0 stands for; for other text it
// returns SpellingHint.
func (n *node) IntegerHint() string {
	if !n.Quoted && setting.IsNumber(n.Text) && !setting.IsInteger(n.Text) {
		v, err := strconv.ParseFloat(n.Text, 64)
		if err == nil && v == math.Trunc(v) && math.Abs(v) <= maxExactInteger {
			return "write " + strconv.FormatFloat(v, 'f', 0, 64)
		}
	}
	return n.SpellingHint()
}

// BracketHint returns how to write a list with the scalar as its one item, or "" if n is none.
func (n *node) BracketHint() string {
	switch {
	case n.Kind == scalarNode && n.Quoted:
		return "write [" + formatText(shorten(n.Text)) + "]"
	case n.Kind == scalarNode:
		return "write [" + printable(n.Text) + "]"
	}
	return ""
}

// maxFoundRunes is how many characters of a value a message quotes at most.
const maxFoundRunes = 60

// printable returns text in one short line, quoted when it holds anything unusual.
func printable(text string) string {
	text = shorten(text)
	if q := fmt.Sprintf("%q", text); q[1:len(q)-1] != text {
		return q
	}
	return text
}

// texts returns the text of every item.
func texts[S ~[]T, T any](items S, text func(T) string) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return all
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxFoundRunes {
		return text
	}
	return string([]rune(text)[:maxFoundRunes]) + "…"
}

// joinKey appends a key to a path, "optimizer" and "name" to "optimizer.name".
func joinKey(path, key string) string {
	if path == "" {
		return printable(key)
	}
	return path + "." + printable(key)
}

// isControl reports whether a rune has no place in text: control characters but the tab, and the
// byte order mark.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '\uFEFF' }

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
		panic("source: a string has no JSON form: " + err.Error())
	}
	return string(quoted)
}
