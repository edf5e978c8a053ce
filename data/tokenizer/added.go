package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a text: to be cut further, or a token.
type piece struct {
	text  string
	token int32 // below 0 unless the piece is a token
	first bool  // whether the text begins with it
}

// addedToken is a word that is found in a text before anything else.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not inside a word
	LStrip     bool   `json:"lstrip"`      // takes the spaces before it
	RStrip     bool   `json:"rstrip"`      // takes the spaces behind it
	Normalized bool   `json:"normalized"`  // is looked for in the normalized text
	Special    bool   `json:"special"`     // of which texts are rid when they are written again
}

// addedTokens finds the added tokens of a file, in a text as it is and once it is normalized.
type addedTokens struct {
	raw, normalized finder
	size            int // a number above every token
}

// finder finds words by their first byte, the longer one first.
type finder [256][]addedToken

// newAddedTokens refuses a number that is not the one of the word in the vocabulary or else the next
// one: the original passes over it.
func newAddedTokens(tokens []addedToken, normalize func(string) string, words vocabulary) (*addedTokens, error) {
	a, ids, next := &addedTokens{}, maps.Clone(words), int32(len(words))
	for _, t := range tokens {
		id, known := ids[t.Content]
		if !known && t.Content != "" {
			id, next = next, next+1
		}
		if t.ID != id && t.Content != "" {
			return nil, fmt.Errorf("found the token %d for %.40q, expected %d, as the library of Hugging Face counts it", t.ID, t.Content, id)
		}
		ids[t.Content] = id
		at := &a.raw
		if t.Normalized {
			at, t.Content = &a.normalized, normalize(t.Content)
		}
		if t.Content != "" {
			at[t.Content[0]], a.size = append(at[t.Content[0]], t), max(a.size, int(t.ID)+1)
		}
	}
	for _, f := range []*finder{&a.raw, &a.normalized} {
		for i := range f {
			slices.SortStableFunc(f[i], func(a, b addedToken) int { return len(b.Content) - len(a.Content) })
		}
	}
	return a, nil
}

// cut cuts the tokens out of pieces, as AddedVocabulary of the original does.
func (f *finder) cut(pieces []piece) (cut []piece) {
	for _, p := range pieces {
		text, from := p.text, 0
		add := func(to int) {
			if to > from {
				cut = append(cut, piece{text[from:to], -1, p.first && from == 0})
			}
		}
		for at := 0; at < len(text); {
			t := f.at(text[at:])
			if t == nil {
				at++
				continue
			}
			begin, end := at, at+len(t.Content)
			at = end
			before, _ := utf8.DecodeLastRuneInString(text[:begin])
			behind, _ := utf8.DecodeRuneInString(text[end:])
			if t.SingleWord && (isWord(before) || isWord(behind)) {
				continue
			}
			if t.LStrip {
				begin = max(from, len(strings.TrimRightFunc(text[:begin], unicode.IsSpace)))
			}
			if t.RStrip {
				end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			}
			add(begin)
			cut = append(cut, piece{token: t.ID})
			from, at = end, max(at, end)
		}
		add(len(text))
	}
	return cut
}

// at returns the longest token with which a text begins; nil if there is none.
func (f *finder) at(text string) *addedToken {
	for i, t := range f[text[0]] {
		if strings.HasPrefix(text, t.Content) {
			return &f[text[0]][i]
		}
	}
	return nil
}

// isWord reports whether a character is one of \w: https://unicode.org/reports/tr18, Annex C.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}
