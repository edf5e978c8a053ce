package data

import (
	"fmt"
	"strings"
)

// Texts is an immutable set of labelled texts in memory, as the tokens that a network sees. It is
// safe for concurrent reading.
type Texts struct {
	labelled
	tokens []int32  // of all texts, one after the other
	ends   []int    // where the tokens of each end
	shown  []string // how each begins, for people
	file   string   // SHA-256 of the file of the tokenizer, "" for none
}

var _ Set = (*Texts)(nil)

// The largest text that a set may have, in tokens, and the largest number of different ones.
const (
	MaxLength     = 4096
	MaxVocabulary = 1 << 20
)

// shownBytes is how much of a text is kept to be shown.
const shownBytes = 240

// NewTexts makes a set of texts of at most length tokens, which the tokenizer finds in them; what is
// longer is cut. labels are indices into classes, one for each text.
func NewTexts(t Tokenizer, length int, classes []string, labels []uint8, texts []string) (*Texts, error) {
	if length < 1 || length > MaxLength || t.Vocabulary() < 1 || t.Vocabulary() > MaxVocabulary {
		return nil, fmt.Errorf("data: %w: texts of %d tokens of %d, expected 1 to %d of 1 to %d", ErrInvalid, length, t.Vocabulary(), MaxLength, MaxVocabulary)
	}
	shape := Sequence(length, t.Vocabulary())
	l, err := newLabelled(shape, classes, labels, len(texts)*length)
	if err != nil {
		return nil, err
	}
	s := &Texts{labelled: l, ends: make([]int, 0, len(texts)), shown: make([]string, 0, len(texts))}
	if f, ok := t.(fileTokens); ok {
		s.file = f.SHA256
	}
	for _, text := range texts {
		s.tokens = t.Tokens(s.tokens, text, length)
		s.ends = append(s.ends, len(s.tokens))
		s.shown = append(s.shown, strings.ToValidUTF8(text[:min(len(text), shownBytes)], "\uFFFD"))
	}
	return s, nil
}

// Text returns how text i begins.
func (s *Texts) Text(i int) string { return s.shown[i] }

// Tokenizer returns the SHA-256 of the file of the tokenizer, in hexadecimal digits; "" for none.
func (s *Texts) Tokenizer() string { return s.file }

// of returns the tokens of text i.
func (s *Texts) of(i int) []int32 {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.tokens[from:s.ends[i]]
}

// normalised returns a filler of the tokens: the index of each, then -1 to the greatest length.
func (s *Texts) normalised(Normalisation) filler {
	return func(x []float32, i int) error {
		own := s.of(i)
		for j := range x {
			x[j] = -1
			if j < len(own) {
				x[j] = float32(own[j])
			}
		}
		return nil
	}
}
