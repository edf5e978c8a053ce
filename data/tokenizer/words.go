package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// modelOf returns how a file cuts words into tokens. Older files name no type: they are told by a key.
func modelOf(content json.RawMessage) (model, error) {
	models := kinds[model]{
		"WordLevel": {keys: "vocab unk_token", build: newWordLevel},
		"WordPiece": {"vocab unk_token continuing_subword_prefix max_input_chars_per_word", part{Unknown: "[UNK]", Prefix: "##", Most: 100}, newWordPiece},
		"Unigram":   {keys: "vocab unk_id byte_fallback", build: newUnigram},
		"BPE":       {keys: "vocab unk_token continuing_subword_prefix end_of_word_suffix dropout fuse_unk byte_fallback ignore_merges merges", build: newPairs},
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(content, &keys) == nil && keys["type"] == nil {
		for key, kind := range map[string]string{"merges": "BPE", "max_input_chars_per_word": "WordPiece", "unk_id": "Unigram"} {
			if keys[key] != nil {
				return models[kind].of(content)
			}
		}
	}
	return component(content, models, 0)
}

// vocabulary maps words to tokens.
type vocabulary map[string]int32

// size returns a number above every token.
func (v vocabulary) size() int {
	return int(slices.Max(append(slices.Collect(maps.Values(v)), -1))) + 1
}

func (v vocabulary) words() vocabulary { return v }

// vocabulary returns the words of a model with their tokens.
func (p part) vocabulary() (v vocabulary, err error) {
	if !none(p.Vocab) && json.Unmarshal(p.Vocab, &v) != nil {
		return nil, fmt.Errorf("found the vocabulary %.40q, expected an object of words and their tokens from 0 to %d", p.Vocab, math.MaxInt32)
	}
	if err == nil && len(v) == 0 {
		err = errors.New("found no vocabulary, expected one")
	}
	for _, id := range v {
		if id < 0 {
			err = fmt.Errorf("found the token %d, expected one from 0", id)
		}
	}
	return v, err
}

// withUnknown returns the vocabulary and the token for what is not in it, which must be there.
func (p part) withUnknown() (v vocabulary, id int32, err error) {
	v, err = p.vocabulary()
	id, known := v[p.Unknown]
	if err == nil && !known {
		err = fmt.Errorf("found no token %.40q, for what is unknown, in the vocabulary, expected it", p.Unknown)
	}
	return v, id, err
}

// longest returns the length of the longest word, in bytes.
func (v vocabulary) longest() (n int) {
	for word := range v {
		n = max(n, len(word))
	}
	return n
}

// wordLevel knows whole words alone.
type wordLevel struct {
	vocabulary
	unknown int32
}

func newWordLevel(p part) (model, error) {
	v, unknown, err := p.withUnknown()
	return &wordLevel{v, unknown}, err
}

func (m *wordLevel) tokens(to []int32, word string) []int32 {
	if id, known := m.vocabulary[word]; known {
		return append(to, id)
	}
	return append(to, m.unknown)
}

// wordPiece takes the longest beginning of what is left of a word, again and again.
type wordPiece struct {
	vocabulary
	unknown int32
	prefix  string // of what does not begin a word
	most    int    // characters of a word; a longer one is unknown
	bytes   int    // of the longest word of the vocabulary
}

func newWordPiece(p part) (model, error) {
	v, unknown, err := p.withUnknown()
	return &wordPiece{v, unknown, p.Prefix, p.Most, v.longest()}, err
}

func (m *wordPiece) tokens(to []int32, word string) []int32 {
	before := len(to)
	if utf8.RuneCountInString(word) > m.most {
		return append(to, m.unknown)
	}
	for from, prefix := 0, ""; from < len(word); prefix = m.prefix {
		end := min(len(word), from+m.bytes)
		for ; end > from; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, known := m.vocabulary[prefix+word[from:end]]; known {
				to = append(to, id)
				break
			}
		}
		if end == from {
			return append(to[:before], m.unknown)
		}
		from = end
	}
	return to
}

// unigram takes the tokens whose scores, logarithms of chances, add up to most.
type unigram struct {
	vocabulary
	scores       []float64
	unknown      int32
	missing      float64 // the score of a character that is unknown
	byteFallback bool
	bytes        int // of the longest word of the vocabulary
}

func newUnigram(p part) (model, error) {
	var vocab [][2]any
	if err := json.Unmarshal(p.Vocab, &vocab); err != nil {
		return nil, err
	}
	if p.UnknownID == nil || *p.UnknownID < 0 || int(*p.UnknownID) >= len(vocab) {
		return nil, errors.New("found no unk_id of a token, expected one for what is unknown")
	}
	m := &unigram{vocabulary: vocabulary{}, unknown: *p.UnknownID, byteFallback: p.ByteFallback}
	for i, pair := range vocab {
		word, isWord := pair[0].(string)
		score, isScore := pair[1].(float64)
		if !isWord || !isScore {
			return nil, fmt.Errorf("found no word with a score in place %d of the vocabulary, expected one", i)
		}
		m.vocabulary[word], m.scores = int32(i), append(m.scores, score)
	}
	m.missing, m.bytes = slices.Min(m.scores)-10, m.longest() // kUnkPenalty of sentencepiece
	return m, nil
}

// tokens finds the best cut by the best ones of all beginnings (Viterbi). Of equal ones the first
// that was found stays, as in encode_optimized of the original.
func (m *unigram) tokens(to []int32, word string) []int32 {
	type node struct {
		score float64
		from  int // below 0 where nothing ends
		id    int32
	}
	best := make([]node, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	take := func(from, end int, id int32, score float64) {
		if score += best[from].score; best[end].from < 0 || score > best[end].score {
			best[end] = node{score, from, id}
		}
	}
	for from, r := range word {
		one, single := from+utf8.RuneLen(r), false
		for end := one; end <= min(len(word), from+m.bytes); end++ {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, known := m.vocabulary[word[from:end]]; known {
				take(from, end, id, m.scores[id])
				single = single || end == one
			}
		}
		if !single {
			take(from, one, m.unknown, m.missing)
		}
	}
	// Backwards, unknown ones that follow each other as one.
	var cut [][2]int
	fused := false
	for end := len(word); end > 0; end = best[end].from {
		unknown := best[end].id == m.unknown
		if unknown && fused {
			cut[len(cut)-1][0] = best[end].from
		} else {
			cut = append(cut, [2]int{best[end].from, end})
		}
		fused = unknown
	}
	for i := len(cut) - 1; i >= 0; i-- {
		to = m.token(to, word[cut[i][0]:cut[i][1]])
	}
	return to
}

// token appends the token of a word, those of its bytes, or that for what is unknown.
func (m *unigram) token(to []int32, word string) []int32 {
	if id, known := m.vocabulary[word]; known {
		return append(to, id)
	}
	if m.byteFallback {
		if all, ok := m.ofBytes(to, word); ok {
			return all
		}
	}
	return append(to, m.unknown)
}

// ofBytes appends the tokens of the bytes of a word, such as <0x0A>. ok is false if one is missing.
func (v vocabulary) ofBytes(to []int32, word string) (all []int32, ok bool) {
	before := len(to)
	for i := range len(word) {
		id, known := v[fmt.Sprintf("<0x%02X>", word[i])]
		if !known {
			return to[:before], false
		}
		to = append(to, id)
	}
	return to, true
}
