package configs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
