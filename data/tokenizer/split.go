package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter cuts a normalized text into words, of which some may be empty.
type splitter func(piece) []piece

// splitterOf returns how a file cuts a text into words.
func splitterOf(content json.RawMessage, depth int) (splitter, error) {
	if none(content) {
		return func(p piece) []piece { return []piece{p} }, nil
	}
	return component(content, splitters(), depth)
}

func splitters() kinds[splitter] {
	return kinds[splitter]{
		"BertPreTokenizer": fixed(chain(by(characters(unicode.IsSpace), removed), by(characters(isPunctuation), isolated))),
		"WhitespaceSplit":  fixed(by(characters(unicode.IsSpace), removed)),
		"Whitespace":       fixed(by(words, inverted, removed)),
		"ByteLevel":        {"add_prefix_space use_regex", part{UseRegex: true}, byteLevelSplitter},
		"Metaspace":        {"replacement str_rep add_prefix_space prepend_scheme split", part{PrependScheme: "always", Split: true}, metaspace},
		"Punctuation": {"behavior", part{Behavior: "Isolated"}, func(p part) (splitter, error) {
			b, err := behaviorOf(p.Behavior)
			return by(characters(isPunctuation), b), err
		}},
		"Digits": {keys: "individual_digits", build: func(p part) (splitter, error) {
			if p.Individual {
				return by(characters(unicode.IsNumber), isolated), nil
			}
			return by(characters(unicode.IsNumber), contiguous), nil
		}},
		"CharDelimiterSplit": {keys: "delimiter", build: func(p part) (splitter, error) {
			return by(characters(func(r rune) bool { return string(r) == p.Delimiter }), removed), nil
		}},
		"Split": {keys: "pattern behavior invert", build: func(p part) (splitter, error) {
			matches, err := p.Pattern.matches()
			if err != nil {
				return nil, fmt.Errorf("pattern: %w", err)
			}
			b, err := behaviorOf(p.Behavior)
			if p.Invert {
				return by(matches, inverted, b), err
			}
			return by(matches, b), err
		}},
		"Sequence": {keys: "pretokenizers", build: func(p part) (splitter, error) {
			steps, err := each(p.Splitters, p.depth, splitterOf)
			return chain(steps...), err
		}},
	}
}

// chain cuts what each splitter leaves by the next one.
func chain(steps ...splitter) splitter {
	return func(p piece) []piece {
		pieces := []piece{p}
		for _, step := range steps {
			var next []piece
			for _, p := range pieces {
				if p.text != "" {
					next = append(next, step(p)...)
				}
			}
			pieces = next
		}
		return pieces
	}
}

// isPunctuation reports whether BERT cuts at r as at punctuation: also at the + and $ of ASCII.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
}

// words finds what the expression \w+|[^\w\s]+ does.
func words(s string) (found [][2]int) {
	kind := 0
	for i, r := range s {
		now := 1
		switch {
		case isWord(r):
			now = 2
		case unicode.IsSpace(r):
			now = 0
		}
		switch {
		case now == 0:
		case now == kind:
			found[len(found)-1][1] = i + utf8.RuneLen(r)
		default:
			found = append(found, [2]int{i, i + utf8.RuneLen(r)})
		}
		kind = now
	}
	return found
}

// characters finds each character of a kind.
func characters(is func(rune) bool) func(string) [][2]int {
	return func(s string) (found [][2]int) {
		for i, r := range s {
			if is(r) {
				found = append(found, [2]int{i, i + utf8.RuneLen(r)})
			}
		}
		return found
	}
}

// span is a part of a text, which is a match or lies between two of them.
type span struct {
	from, to int
	match    bool
}

// A behavior makes words of the spans of a text, as SplitDelimiterBehavior of the original does.
type behavior func([]span) []span

// inverted takes matches for what lies between them.
func inverted(spans []span) []span {
	for i := range spans {
		spans[i].match = !spans[i].match
	}
	return spans
}

func isolated(s []span) []span { return s }

func removed(s []span) []span {
	return slices.DeleteFunc(s, func(s span) bool { return s.match })
}

// contiguous makes one word of matches that follow each other.
func contiguous(s []span) []span {
	return merged(s, func(now, before bool) bool { return now == before })
}

// withPrevious adds a match to what stands before it.
func withPrevious(s []span) []span {
	return merged(s, func(now, before bool) bool { return now && !before })
}

// merged adds a span to the one before it where join says so, by whether each is a match.
func merged(spans []span, join func(now, before bool) bool) (out []span) {
	before := false
	for _, s := range spans {
		if join(s.match, before) && len(out) > 0 {
			out[len(out)-1].to = s.to
		} else {
			out = append(out, s)
		}
		before = s.match
	}
	return out
}

// withNext adds a match to what stands behind it.
func withNext(s []span) []span {
	return merged(s, func(now, before bool) bool { return !now && before })
}

// behaviorOf returns the behavior of a name in a file.
func behaviorOf(name string) (behavior, error) {
	b, known := map[string]behavior{"Isolated": isolated, "Removed": removed, "Contiguous": contiguous, "MergedWithPrevious": withPrevious, "MergedWithNext": withNext}[name]
	if !known {
		return nil, fmt.Errorf("found the behavior %.40q, which is not known here", name)
	}
	return b, nil
}

// by returns the splitter that cuts at matches, with all behaviors one after the other.
func by(matches func(string) [][2]int, all ...behavior) splitter {
	return func(p piece) (out []piece) {
		var spans []span
		from := 0
		for _, m := range matches(p.text) {
			if m[0] > from {
				spans = append(spans, span{from, m[0], false})
			}
			spans = append(spans, span{m[0], m[1], true})
			from = m[1]
		}
		if from < len(p.text) {
			spans = append(spans, span{from, len(p.text), false})
		}
		for _, b := range all {
			spans = b(spans)
		}
		for _, s := range spans {
			out = append(out, piece{p.text[s.from:s.to], -1, p.first && s.from == 0})
		}
		return out
	}
}

// gpt2 is the expression by which GPT-2 cuts texts.
var gpt2 = func() func(string) [][2]int {
	matches, err := expression(`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + spacesBefore)
	if err != nil {
		panic(err)
	}
	return matches
}()

// byteLevelSplitter cuts as GPT-2 does, and writes bytes as characters.
func byteLevelSplitter(c part) (splitter, error) {
	cut := by(gpt2, isolated)
	return func(p piece) []piece {
		if (c.AddPrefixSpace == nil || *c.AddPrefixSpace) && !strings.HasPrefix(p.text, " ") {
			p.text = " " + p.text
		}
		pieces := []piece{p}
		if c.UseRegex {
			pieces = cut(p)
		}
		for i := range pieces {
			pieces[i].text = byteLevel(pieces[i].text)
		}
		return pieces
	}, nil
}

// byteLevel writes every byte as a character that can be seen: itself, or the next one from U+0100
// (bytes_to_unicode of GPT-2).
func byteLevel(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(visible[s[i]])
	}
	return b.String()
}

var visible = func() (v [256]rune) {
	next := rune(256)
	for b := range v {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			v[b] = rune(b)
		} else {
			v[b] = next
			next++
		}
	}
	return v
}()

// metaspace writes spaces as a sign, puts it before words, and cuts before it.
func metaspace(c part) (splitter, error) {
	if c.AddPrefixSpace != nil && !*c.AddPrefixSpace {
		c.PrependScheme = "never"
	}
	if c.Replacement == "" || !slices.Contains([]string{"always", "first", "never"}, c.PrependScheme) {
		return nil, fmt.Errorf("found the replacement %.40q and the scheme %.40q, expected a sign and always, first or never", c.Replacement, c.PrependScheme)
	}
	cut := by(func(s string) [][2]int { m, _ := pattern{String: &c.Replacement}.matches(); return m(s) }, withNext)
	return func(p piece) []piece {
		p.text = strings.ReplaceAll(p.text, " ", c.Replacement)
		if !strings.HasPrefix(p.text, c.Replacement) && (c.PrependScheme == "always" || c.PrependScheme == "first" && p.first) {
			p.text = c.Replacement + p.text
		}
		if !c.Split {
			return []piece{p}
		}
		return cut(p)
	}, nil
}
