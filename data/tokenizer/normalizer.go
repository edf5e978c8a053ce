package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizerOf returns what a file does to a text before it is cut.
func normalizerOf(content json.RawMessage, depth int) (func(string) string, error) {
	if none(content) {
		return func(s string) string { return s }, nil
	}
	normalize, err := component(content, normalizers(), depth)
	return func(s string) string { return beginning(normalize(s)) }, err
}

// beginning returns at most MaxText bytes of a text, in whole characters where it is UTF-8.
func beginning(s string) string {
	n := min(len(s), MaxText)
	for n < len(s) && n > MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func normalizers() kinds[func(string) string] {
	return kinds[func(string) string]{
		"NFC":            fixed(norm.NFC.String),
		"NFD":            fixed(norm.NFD.String),
		"NFKC":           fixed(norm.NFKC.String),
		"NFKD":           fixed(norm.NFKD.String),
		"Lowercase":      fixed(func(s string) string { return mapped(s, lower) }),
		"StripAccents":   fixed(func(s string) string { return without(s, func(r rune) bool { return unicode.Is(unicode.M, r) }) }),
		"Nmt":            fixed(nmt),
		"ByteLevel":      fixed(byteLevel),
		"BertNormalizer": {"clean_text handle_chinese_chars strip_accents lowercase", part{CleanText: true, Chinese: true, Lowercase: true}, bertNormalizer},
		"Precompiled":    {keys: "precompiled_charsmap", build: precompiled},
		"Strip":          {keys: "strip_left strip_right", build: stripNormalizer},
		"Replace":        {keys: "pattern content", build: replaceNormalizer},
		"Prepend": {keys: "prepend", build: func(p part) (func(string) string, error) {
			return func(s string) string {
				if s == "" {
					return s
				}
				return p.Prepend + s
			}, nil
		}},
		"Sequence": {keys: "normalizers", build: func(p part) (func(string) string, error) {
			steps, err := each(p.Normalizers, p.depth, normalizerOf)
			return func(s string) string {
				for _, step := range steps {
					s = step(s)
				}
				return s
			}, err
		}},
	}
}

// mapped returns s with every character replaced by a text.
func mapped(s string, by func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(by(r))
	}
	return b.String()
}

// without returns s without some characters.
func without(s string, gone func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if gone(r) {
			return -1
		}
		return r
	}, s)
}

// lower returns the full lower case of a character. Of all characters one has two:
// https://unicode.org/Public/UNIDATA/SpecialCasing.txt.
func lower(r rune) string {
	if r == 'İ' {
		return "i̇"
	}
	return string(unicode.ToLower(r))
}

// nmt replaces and removes the control characters that sentencepiece does.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return -1
		case r == '\t', r == '\n', r == 0x0C, r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return ' '
		}
		return r
	}, s)
}

// bertNormalizer is the one of BERT, whose four steps can be left out.
func bertNormalizer(p part) (func(string) string, error) {
	accents := p.Lowercase
	if p.StripAccents != nil {
		accents = *p.StripAccents
	}
	return func(s string) string {
		if p.CleanText {
			s = strings.Map(clean, s)
		}
		if p.Chinese {
			s = mapped(s, func(r rune) string {
				if isChinese(r) {
					return " " + string(r) + " "
				}
				return string(r)
			})
		}
		if accents {
			s = without(norm.NFD.String(s), func(r rune) bool { return unicode.Is(unicode.Mn, r) })
		}
		if p.Lowercase {
			s = mapped(s, lower)
		}
		return s
	}, nil
}

// clean makes a space of every one, and removes control characters and those that have no meaning.
func clean(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0 || r == 0xFFFD || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// isChinese reports whether a character is of the blocks of CJK ideographs that BERT names.
func isChinese(r rune) bool {
	blocks := [][2]rune{{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F}}
	return slices.ContainsFunc(blocks, func(b [2]rune) bool { return r >= b[0] && r <= b[1] })
}

func stripNormalizer(p part) (func(string) string, error) {
	return func(s string) string {
		if p.Left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if p.Right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}, nil
}

// pattern is a text or a regular expression, as a file writes it.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// matches returns the function that finds the matches of a pattern in a text, in order.
func (p pattern) matches() (func(string) [][2]int, error) {
	switch {
	case p.Regex != nil:
		return expression(*p.Regex)
	case p.String == nil || *p.String == "":
		return nil, errors.New("found no pattern, expected a text or a regular expression")
	}
	return func(s string) (found [][2]int) {
		for at := 0; ; {
			i := strings.Index(s[at:], *p.String)
			if i < 0 {
				return found
			}
			found = append(found, [2]int{at + i, at + i + len(*p.String)})
			at += i + len(*p.String)
		}
	}, nil
}

func replaceNormalizer(p part) (func(string) string, error) {
	matches, err := p.Pattern.matches()
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return func(s string) string {
		var b strings.Builder
		from := 0
		for _, m := range matches(s) {
			b.WriteString(s[from:m[0]])
			b.WriteString(p.Content)
			if from = m[1]; b.Len() >= MaxText {
				break
			}
		}
		b.WriteString(s[from:])
		return b.String()
	}, nil
}
