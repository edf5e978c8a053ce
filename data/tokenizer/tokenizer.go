// Package tokenizer cuts texts into tokens as a file tokenizer.json of Hugging Face says: WordPiece,
// byte-pair encoding, Unigram and lists of words, with the normalizers, pre-tokenizers and templates
// that the files of BERT, GPT, RoBERTa, CLIP, Llama, T5 and XLM-R have. What a file asks for beyond
// these is refused by its name. Truncation and padding of a file are passed over.
//
// testdata/make.py compares with the original, the Python package tokenizers.
package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"dpsgd/internal/disk"
)

// What may be read.
const (
	MaxFile = 128 << 20 // bytes of a file
	MaxText = 256 << 10 // bytes of a text, before and after each normalizer; what follows is passed over
)

// Tokenizer cuts texts into tokens. It is immutable, and safe for concurrent use.
type Tokenizer struct {
	SHA256 string // of the file, in hexadecimal digits

	vocabulary    int
	added         *addedTokens
	normalize     func(string) string
	split         splitter
	model         model
	before, after []int32 // tokens around those of a text, such as CLS and SEP of BERT
}

// A model cuts a word, which is not empty, and appends its tokens.
type model interface {
	tokens(to []int32, word string) []int32
	words() vocabulary
}

// Open reads a file. The error is one line that names it.
func Open(path string) (*Tokenizer, error) {
	file, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err == nil && len(content) > MaxFile {
		err = fmt.Errorf("found more than %d bytes, expected at most so many", MaxFile)
	}
	var t *Tokenizer
	if err == nil {
		t, err = New(content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// New returns the tokenizer of the content of a file.
func New(content []byte) (*Tokenizer, error) {
	var f struct {
		Version       string          `json:"version"`
		Truncation    json.RawMessage `json:"truncation"`
		Padding       json.RawMessage `json:"padding"`
		AddedTokens   []addedToken    `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
		Model         json.RawMessage `json:"model"`
	}
	if err := strict(content, &f); err != nil {
		return nil, fmt.Errorf("found no tokenizer of Hugging Face (%w), expected a tokenizer.json", err)
	}
	sum := sha256.Sum256(content)
	t := &Tokenizer{SHA256: hex.EncodeToString(sum[:])}
	var err error
	if t.normalize, err = normalizerOf(f.Normalizer, 0); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, err = splitterOf(f.PreTokenizer, 0); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if t.model, err = modelOf(f.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if t.before, t.after, err = templateOf(f.PostProcessor, 0); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if t.added, err = newAddedTokens(f.AddedTokens, t.normalize, t.model.words()); err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	t.vocabulary = max(t.model.words().size(), t.added.size)
	for _, id := range append(t.before[:len(t.before):len(t.before)], t.after...) {
		if id < 0 || int(id) >= t.vocabulary {
			return nil, fmt.Errorf("post_processor: found the token %d, expected one of the %d", id, t.vocabulary)
		}
	}
	return t, nil
}

// Vocabulary returns a number above every token.
func (t *Tokenizer) Vocabulary() int { return t.vocabulary }

// Tokens appends at most limit tokens of a text, from its beginning. What the file puts around a
// text is among them, as far as limit reaches. Bytes that are not UTF-8 count as U+FFFD.
func (t *Tokenizer) Tokens(to []int32, text string, limit int) []int32 {
	begin := len(to)
	to = append(to, t.before...)
	first := len(to)
	for _, raw := range t.added.raw.cut([]piece{{text: beginning(strings.ToValidUTF8(beginning(text), "\uFFFD")), first: true}}) {
		if raw.token >= 0 {
			to = append(to, raw.token)
			continue
		}
		raw.text = t.normalize(raw.text)
		for _, p := range t.added.normalized.cut([]piece{raw}) {
			if p.token >= 0 {
				to = append(to, p.token)
				continue
			}
			for _, word := range t.split(p) {
				if word.text != "" {
					to = t.model.tokens(to, word.text)
				}
			}
		}
	}
	to = to[:min(len(to), max(first, begin+limit-len(t.after)))]
	to = append(to, t.after...)
	return to[:min(len(to), begin+limit)]
}

// strict decodes JSON whose keys are all known.
func strict(content []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows")
	}
	return nil
}

// templateOf returns the tokens that a file puts before and behind those of a text.
func templateOf(content json.RawMessage, depth int) (before, after []int32, err error) {
	if none(content) {
		return nil, nil, nil
	}
	a, err := component(content, templates(), depth)
	return a.before, a.after, err
}

// around are the tokens before and behind those of a text.
type around struct{ before, after []int32 }

func templates() kinds[around] {
	pair := func(p part) (around, error) {
		cls, _ := p.Cls[1].(float64)
		sep, ok := p.Sep[1].(float64)
		if !ok {
			return around{}, errors.New("found no number of sep, expected a text and a number")
		}
		return around{[]int32{int32(cls)}, []int32{int32(sep)}}, nil
	}
	return kinds[around]{
		"ByteLevel":          {keys: "add_prefix_space use_regex", build: func(part) (around, error) { return around{}, nil }},
		"BertProcessing":     {keys: "sep cls", build: pair},
		"RobertaProcessing":  {keys: "sep cls add_prefix_space", build: pair},
		"TemplateProcessing": {keys: "single pair special_tokens", build: template},
		"Sequence": {keys: "processors", build: func(p part) (a around, err error) {
			for _, content := range p.Processors {
				before, after, err := templateOf(content, p.depth)
				if err != nil {
					return a, err
				}
				a.before, a.after = append(before, a.before...), append(a.after, after...)
			}
			return a, nil
		}},
	}
}

// template returns the tokens around the one sequence of a template.
func template(p part) (a around, err error) {
	sequences := 0
	for _, i := range p.Single {
		switch {
		case i.Sequence != nil:
			sequences++
		case i.SpecialToken == nil || len(p.Special[i.SpecialToken.ID].IDs) == 0:
			return a, errors.New("found a part that is neither a sequence nor a token with a number")
		case sequences == 0:
			a.before = append(a.before, p.Special[i.SpecialToken.ID].IDs...)
		default:
			a.after = append(a.after, p.Special[i.SpecialToken.ID].IDs...)
		}
	}
	if sequences != 1 {
		return a, fmt.Errorf("found %d sequences in the template, expected one", sequences)
	}
	return a, nil
}
