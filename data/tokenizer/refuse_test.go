package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsgd/internal/slow"
)

// file returns a tokenizer of words with some parts of its file in place of null.
func file(parts ...string) string {
	content := `{"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}}`
	for i := 0; i < len(parts); i += 2 {
		at := strings.Index(content, `"`+parts[i]+`": `) + len(parts[i]) + 4
		end := at + strings.IndexAny(content[at:], ",")
		if parts[i] == "model" {
			end = len(content) - 1
		}
		content = content[:at] + parts[i+1] + content[end:]
	}
	return content
}

// What a file asks for and is not known here is refused by its name, in one line.
func TestRefusesByName(t *testing.T) {
	for _, c := range []struct{ content, says string }{
		{"", "found no tokenizer of Hugging Face"},
		{"[]", "found no tokenizer of Hugging Face"},
		{`{"modell": {}}`, `unknown field "modell"`},
		{file() + "{}", "more follows"},
		{file("normalizer", `{"type": "Rare"}`), `normalizer: found the type "Rare", which is not known here`},
		{file("normalizer", `{"type": "NFC", "form": 1}`), `normalizer: NFC: found the unknown field "form"`},
		{file("normalizer", `{"type": "Precompiled", "precompiled_charsmap": "/////w=="}`), "found a trie of 4294967295 bytes in 4"},
		{file("normalizer", `{"type": "Replace", "pattern": {"Regex": "a(?=b)"}, "content": ""}`), "a group that looks around, which is not known here"},
		{file("normalizer", `{"type": "Replace", "pattern": {"Regex": "^a"}, "content": ""}`), "with ^, which is not known here"},
		{file("normalizer", `{"type": "Replace", "pattern": {"Regex": "a++"}, "content": ""}`), "found a regular expression that is not known here"},
		{file("normalizer", strings.Repeat(`{"type": "Sequence", "normalizers": [`, 4000)+strings.Repeat("]}", 4000)), "more than 8 components in each other"},
		{file("pre_tokenizer", `{"type": "UnicodeScripts"}`), `pre_tokenizer: found the type "UnicodeScripts"`},
		{file("pre_tokenizer", `{"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd", "invert": false}`), `the behavior "Odd"`},
		{file("post_processor", `{"type": "BertProcessing", "sep": ["x", 7], "cls": ["y", 0]}`), "post_processor: found the token 7, expected one of the 3"},
		{file("post_processor", `{"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}`), "found 0 sequences"},
		{file("added_tokens", `[{"id": -1, "content": "x"}]`), "found the token -1"},
		{file("added_tokens", `[{"id": 0, "content": "b"}]`), `found the token 0 for "b", expected 1`},
		{file("model", `{"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}`), "found dropout 0.1, expected none"},
		{file("model", `{"type": "BPE", "vocab": {"a": 3000000000}, "merges": []}`), "tokens from 0 to 2147483647"},
		{file("model", `{"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}`), "merge 0: found a symbol that is not in the vocabulary"},
		{file("model", `{"type": "BPE", "vocab": {"a": -3}, "merges": []}`), "found the token -3"},
		{file("model", `{"type": "WordPiece", "vocab": {"a": 0}}`), `found no token "[UNK]"`},
		{file("model", `{"type": "Unigram", "vocab": [["a", 0]]}`), "found no unk_id"},
		{file("model", `{"type": "Unigram", "unk_id": 0, "vocab": [["a", "b"]]}`), "found no word with a score in place 0"},
	} {
		if _, err := New([]byte(c.content)); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: found %v, expected one line with %q", c.content, err, c.says)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(err) {
		t.Errorf("found %v, expected that it is not there", err)
	}
}

// A text is cut at a number of tokens with what stands around it, whatever the number.
func TestTokensAreCut(t *testing.T) {
	tokenizer := must(New([]byte(file("pre_tokenizer", `{"type": "WhitespaceSplit"}`, "post_processor", `{"type": "BertProcessing", "sep": ["?", 2], "cls": ["b", 1]}`))))(t)
	for limit, want := range [][]int32{{9}, {9, 1}, {9, 1, 2}, {9, 1, 0, 2}, {9, 1, 0, 2, 2}, {9, 1, 0, 2, 0, 2}, {9, 1, 0, 2, 0, 2}} {
		if found := tokenizer.Tokens([]int32{9}, "a xx a", limit); !slices.Equal(found, want) {
			t.Errorf("at most %d: found %v, expected %v", limit, found, want)
		}
	}
	if found := tokenizer.Tokens(nil, "", 5); !slices.Equal(found, []int32{1, 2}) {
		t.Errorf("found %v for no text", found)
	}
}

// \w means what it means to Oniguruma, as tokenizers 0.23.3 splits by it.
func TestWordCharacters(t *testing.T) {
	if found := must(expression(`\w+`))(t)("aⓠb½²c❤d🅐"); !slices.Equal(found, [][2]int{{0, 10}, {13, 18}}) {
		t.Errorf("found the words %v", found)
	}
}

// A long word takes no time that grows with its square.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("ab", 100_000)
	for _, name := range []string{"gpt2", "llama", "unigram", "xlm-r", "bert"} {
		tokenizer := must(Open(filepath.Join("testdata", name+".json")))(t)
		if found := tokenizer.Tokens(nil, long, 1<<20); len(found) == 0 {
			t.Errorf("%s: found no token", name)
		}
	}
}

// A text that normalizers multiply is cut before it takes the memory of the machine.
func TestTextsStayShort(t *testing.T) {
	for _, step := range []string{
		`{"type": "Replace", "pattern": {"String": "a"}, "content": "` + strings.Repeat("aé", 32) + `"}`, `{"type": "Prepend", "prepend": "` + strings.Repeat("é", MaxText/3) + `"}`,
	} {
		sequence := `{"type": "Sequence", "normalizers": [` + strings.Repeat(step+", ", 7) + step + `]}`
		n := must(normalizerOf([]byte(sequence), 0))(t)("aaa")
		if len(n) > MaxText || len(n) < MaxText-3 || !utf8.ValidString(n) {
			t.Errorf("found %d bytes, expected whole characters of at most %d", len(n), MaxText)
		}
	}
	words := must(New([]byte(file("normalizer", `{"type": "Precompiled", "precompiled_charsmap": "DAAAAAAAAAABDQAAAAAAgOQA"}`, "pre_tokenizer", `{"type": "Whitespace"}`))))(t)
	for _, text := range []string{strings.Repeat("é", MaxText), strings.Repeat("\x80", MaxText+1), "a\x01"} { // of the last the file makes no UTF-8
		if found := words.Tokens(nil, text, 4); len(found) == 0 || len(found) > 4 {
			t.Errorf("found %v of %.8q", found, text)
		}
	}
}

// Any file is a tokenizer or refused; any text has tokens of its vocabulary, at most as many as are
// asked for.
func FuzzTokenizer(f *testing.F) {
	var seeds [][]byte
	for _, parts := range [][]string{
		nil, {"normalizer", `{"type": "BertNormalizer"}`, "pre_tokenizer", `{"type": "BertPreTokenizer"}`},
		{"pre_tokenizer", `{"type": "ByteLevel"}`, "model", `{"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": [["a", "b"]]}`},
		{"pre_tokenizer", `{"type": "Metaspace", "replacement": "▁"}`, "model", `{"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["ab", -1.5]]}`},
		{"normalizer", `{"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABh"}`, "added_tokens", `[{"id": 3, "content": "ab", "lstrip": true}]`},
		{"model", `{"type": "WordPiece", "vocab": {"a": 0, "##b": 1, "[UNK]": 2}}`, "pre_tokenizer", `{"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|\\s+"}, "behavior": "MergedWithNext", "invert": true}`},
	} {
		seeds = append(seeds, []byte(file(parts...)))
	}
	slow.Inputs(f, seeds, func(t testing.TB, content []byte) int64 {
		tokenizer, err := New(content)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("found %q, expected one line", err)
			}
			return 0
		}
		for _, text := range []string{"", "a b\u00a0ab  ", "\xffab\nab", string(content[:min(len(content), 100)])} {
			for _, limit := range []int{1, 3, 1 << 10} {
				found := tokenizer.Tokens(nil, text, limit)
				if len(found) > limit {
					t.Errorf("found %d tokens, expected at most %d", len(found), limit)
				}
				for _, id := range found {
					if id < 0 || int(id) >= tokenizer.Vocabulary() {
						t.Errorf("found the token %d of %d", id, tokenizer.Vocabulary())
					}
				}
			}
		}
		return 0
	})
}
