package data

import (
	"strings"
)

// A Tokenizer turns texts into tokens. It is public: nothing of it is learnt from the texts.
type Tokenizer interface {
	// Vocabulary returns the number of different tokens.
	Vocabulary() int
	// Tokens appends at most limit tokens of a text, from its beginning, each at least 0 and less
	// than Vocabulary.
	Tokens(to []int32, text string, limit int) []int32
}

// Bytes is the tokenizer whose tokens are the bytes of a text.
type Bytes struct{}

func (Bytes) Vocabulary() int { return 256 }

func (Bytes) Tokens(to []int32, text string, limit int) []int32 {
	for _, b := range []byte(text[:min(len(text), limit)]) {
		to = append(to, int32(b))
	}
	return to
}

// wordList is the tokenizer of a list of words: the token of a word is its place in the list from 1,
// that of any other one is 0. Words stand between spaces.
type wordList []string

func (w wordList) Vocabulary() int { return len(w) + 1 }

func (w wordList) Tokens(to []int32, text string, limit int) []int32 {
	for word := range strings.FieldsSeq(text) {
		if limit == 0 {
			break
		}
		token := int32(0)
		for i, known := range w {
			if word == known {
				token = int32(i + 1)
			}
		}
		to, limit = append(to, token), limit-1
	}
	return to
}

// Tokens returns the tokenizer of the declared texts.
func (s Spec) Tokens() (Tokenizer, error) {
	if known := Find(s.Name); known != nil && known.Words != nil {
		return wordList(known.Words), nil
	}
	return Bytes{}, nil
}
