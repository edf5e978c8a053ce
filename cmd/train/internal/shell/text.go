package shell

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is the width of a terminal on which everything can be read.
const Width = 80

// Cut shortens a text to a width, for lines that must not wrap.
func Cut(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// Wrap breaks a text into lines at spaces; a longer word is cut.
func Wrap(text string, width int) []string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = Cut(word, width)
	}
	return filled(words, width)
}

// filled puts as many words into each line as there is room for.
func filled(words []string, width int) (lines []string) {
	for _, word := range words {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// Plain returns a text that somebody else has written, such as a name in a file. It is quoted if it
// holds what a terminal takes for more than text.
func Plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
