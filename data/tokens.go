package data

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"dpsgd/data/tokenizer"
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

// fileTokens is the tokenizer of a file, for as many tokens as are declared.
type fileTokens struct {
	*tokenizer.Tokenizer
	declared int
}

func (f fileTokens) Vocabulary() int { return f.declared }

// Tokens returns the tokenizer of the declared texts. It reads its file, if there is one.
func (s Spec) Tokens() (Tokenizer, error) {
	if known := Find(s.Name); known != nil && known.Words != nil {
		return wordList(known.Words), nil
	}
	if s.Tokenizer == "" {
		return Bytes{}, nil
	}
	t, err := tokenizer.Open(s.Tokenizer)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data: %w: the tokenizer %s", ErrMissing, s.Tokenizer)
	case err != nil:
		return nil, fmt.Errorf("data: %w: the tokenizer %w", ErrInvalid, err)
	case t.Vocabulary() > s.Vocabulary:
		return nil, fmt.Errorf("data: %w: the tokenizer %s has %d tokens, found %d declared, expected at least so many in data.vocabulary", ErrInvalid, s.Tokenizer, t.Vocabulary(), s.Vocabulary)
	}
	return fileTokens{t, s.Vocabulary}, nil
}

// vocabulary returns the declared number of tokens. It reads nothing.
func (s Spec) vocabulary() int {
	if s.Tokenizer == "" {
		return Bytes{}.Vocabulary()
	}
	return s.Vocabulary
}
