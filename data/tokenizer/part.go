package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// part holds the keys of every component of a file; a [kind] says which ones it has.
type part struct {
	depth int // of components inside this one
	// Several components.
	Type           string `json:"type"`
	TrimOffsets    bool   `json:"trim_offsets"` // about places in a text, which nobody asks for
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	Pattern        pattern
	// Normalizers.
	Normalizers  []json.RawMessage
	Prepend      string
	Content      string
	Charsmap     string `json:"precompiled_charsmap"`
	Left         bool   `json:"strip_left"`
	Right        bool   `json:"strip_right"`
	CleanText    bool   `json:"clean_text"`
	Chinese      bool   `json:"handle_chinese_chars"`
	StripAccents *bool  `json:"strip_accents"` // as lowercase where nothing is said
	Lowercase    bool
	// Pre-tokenizers.
	Splitters     []json.RawMessage `json:"pretokenizers"`
	Behavior      string
	Individual    bool `json:"individual_digits"`
	Delimiter     string
	Invert        bool
	UseRegex      bool `json:"use_regex"`
	Replacement   string
	Older         string `json:"str_rep"` // the same, in older files
	PrependScheme string `json:"prepend_scheme"`
	Split         bool
	// Post-processors.
	Processors []json.RawMessage
	Sep, Cls   [2]any
	Single     []struct{ SpecialToken, Sequence *item }
	Pair       json.RawMessage
	Special    map[string]struct {
		ID     string
		IDs    []int32
		Tokens []string
	} `json:"special_tokens"`
	// Models.
	Vocab        json.RawMessage
	Unknown      string `json:"unk_token"`
	UnknownID    *int32 `json:"unk_id"`
	Prefix       string `json:"continuing_subword_prefix"`
	Suffix       string `json:"end_of_word_suffix"`
	Most         int    `json:"max_input_chars_per_word"`
	Dropout      float64
	FuseUnknown  bool `json:"fuse_unk"`
	ByteFallback bool `json:"byte_fallback"`
	IgnoreMerges bool `json:"ignore_merges"`
	Merges       []json.RawMessage
}

// item is what a template puts in a place.
type item struct {
	ID   string
	Type int `json:"type_id"`
}

// kind says how a component of a type is read.
type kind[T any] struct {
	keys  string // that it may have beside its type
	start part   // what holds where the file says nothing
	build func(part) (T, error)
}

type kinds[T any] map[string]kind[T]

// fixed is a kind without settings.
func fixed[T any](t T) kind[T] { return kind[T]{build: func(part) (T, error) { return t, nil }} }

// mostDepth is how deep components may lie in each other: each is read again for all around it.
const mostDepth = 8

// component decodes a part of a file, whose key type says which of the kinds it is.
func component[T any](content json.RawMessage, all kinds[T], depth int) (t T, err error) {
	var named struct{ Type string }
	if depth > mostDepth {
		return t, fmt.Errorf("found more than %d components in each other, expected at most so many", mostDepth)
	}
	if err := json.Unmarshal(content, &named); err != nil {
		return t, fmt.Errorf("found no object with a type (%w), expected one", err)
	}
	k, known := all[named.Type]
	if !known {
		return t, fmt.Errorf("found the type %.40q, which is not known here", named.Type)
	}
	k.start.depth = depth + 1
	if t, err = k.of(content); err != nil {
		err = fmt.Errorf("%s: %w", named.Type, err)
	}
	return t, err
}

// of decodes a component, whose keys are all known.
func (k kind[T]) of(content json.RawMessage) (t T, err error) {
	var found map[string]json.RawMessage
	p := k.start
	if err := json.Unmarshal(content, &found); err != nil {
		return t, err
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(strings.Fields("type trim_offsets "+k.keys), key) {
			return t, fmt.Errorf("found the unknown field %.40q, expected one of: %s", key, k.keys)
		}
	}
	if err := strict(content, &p); err != nil {
		return t, err
	}
	return k.build(p)
}

// each returns what build makes of each component of a sequence.
func each[T any](list []json.RawMessage, depth int, build func(json.RawMessage, int) (T, error)) ([]T, error) {
	built := make([]T, len(list))
	for i, content := range list {
		var err error
		if built[i], err = build(content, depth); err != nil {
			return nil, err
		}
	}
	return built, nil
}

// none reports whether a part of a file is left out.
func none(content json.RawMessage) bool { return len(content) == 0 || string(content) == "null" }
