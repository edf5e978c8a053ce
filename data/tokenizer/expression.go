package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The classes of Oniguruma, whose expressions files have: \w has ², ½ and letters in circles, too.
var classes = map[byte]string{
	's': `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}`,
	'd': `\p{Nd}`,
	'w': `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}\x{24B6}-\x{24E9}` +
		`\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}`,
}

// The one look ahead that files have: spaces, without the last one where something follows.
const spacesBefore = `\s+(?!\S)|\s+`

// expression returns a function that finds the matches of a regular expression of Oniguruma in a
// text, in order. It refuses what it cannot translate.
func expression(source string) (func(string) [][2]int, error) {
	before, behind, spaces := strings.Cut(source, spacesBefore)
	var parts []string
	for _, part := range []string{before, behind} {
		p, err := translated(part)
		if err != nil {
			return nil, fmt.Errorf("found the regular expression %.80q with %w", source, err)
		}
		parts = append(parts, p)
	}
	source = strings.Join(parts, "")
	if spaces {
		source = parts[0] + `(?P<spaces>[` + classes['s'] + `]+)` + parts[1]
	}
	e, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("found a regular expression that is not known here (%w)", err)
	}
	group := 2 * e.SubexpIndex("spaces") // below 0 where there is none
	return func(s string) (found [][2]int) {
		for at := 0; at < len(s); {
			m := e.FindStringSubmatchIndex(s[at:])
			if m == nil {
				return found
			}
			begin, end := at+m[0], at+m[1]
			if group > 0 && m[group] >= 0 && end < len(s) { // what follows is no space
				if _, n := utf8.DecodeLastRuneInString(s[begin:end]); begin+n < end {
					end -= n
				}
			}
			if end == begin { // nothing: look behind the next character
				_, n := utf8.DecodeRuneInString(s[end:])
				at = end + n
				continue
			}
			found = append(found, [2]int{begin, end})
			at = end
		}
		return found
	}, nil
}

// translated returns a part of an expression in Go's syntax, which has no classes of Unicode but by
// their names. It refuses what means something else there, and all that looks around.
func translated(part string) (string, error) {
	var b strings.Builder
	inside := false // a class in brackets
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == '\\' && i+1 < len(part):
			i++
			letter := part[i]
			class, negated := classes[letter], ""
			if class == "" && letter >= 'A' && letter <= 'Z' {
				class, negated = classes[letter-'A'+'a'], "^"
			}
			switch {
			case class != "" && !inside:
				b.WriteString("[" + negated + class + "]")
			case class != "" && negated == "":
				b.WriteString(class)
			case class != "" || strings.IndexByte("bBAzZGKhHRX123456789", letter) >= 0:
				return "", fmt.Errorf("\\%c, which is not known here", letter)
			default:
				b.WriteString(part[i-1 : i+1])
			}
			continue
		case inside && (c == '[' || strings.HasPrefix(part[i:], "&&")):
			return "", errors.New("a class in a class, which is not known here")
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case !inside && (c == '^' || c == '$'):
			return "", fmt.Errorf("%c, which is not known here", c)
		case !inside && strings.HasPrefix(part[i:], "(?") && !strings.HasPrefix(part[i:], "(?:") && !strings.HasPrefix(part[i:], "(?i:"):
			return "", errors.New("a group that looks around, which is not known here")
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}
