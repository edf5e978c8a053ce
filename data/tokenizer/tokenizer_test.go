package tokenizer

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Texts of many scripts, of emoji and odd spaces have the tokens that the original finds, cut off or
// not. testdata/make.py wrote tokenizers and tokens; DPSGD_TOKENIZERS names a folder of more of them.
func TestAgreesWithTheOriginal(t *testing.T) {
	dir := cmp.Or(os.Getenv("DPSGD_TOKENIZERS"), "testdata")
	all := map[string]*Tokenizer{}
	file := must(os.Open(filepath.Join(dir, "texts.jsonl")))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	texts, wrong := 0, map[string]int{}
	for ; lines.Scan(); texts++ {
		var c struct {
			Text   string
			Tokens map[string][]int32
		}
		check(t, json.Unmarshal(lines.Bytes(), &c))
		for name, want := range c.Tokens {
			if all[name] == nil {
				all[name] = must(Open(filepath.Join(dir, name+".json")))(t)
			}
			found := all[name].Tokens(nil, c.Text, 1<<20)
			if !slices.Equal(found, want) {
				if wrong[name]++; wrong[name] < 5 {
					t.Errorf("%s: %q has the tokens\n%v, expected\n%v", name, c.Text, found, want)
				}
				continue
			}
			if top := slices.Max(append(found, 0)); int(top) >= all[name].Vocabulary() {
				t.Errorf("%s: found the token %d of %d", name, top, all[name].Vocabulary())
			}
		}
	}
	check(t, lines.Err())
	t.Logf("%d texts by %d tokenizers, others by %v", texts, len(all), wrong)
	if texts < 100 || len(all) < 10 {
		t.Errorf("found %d texts and %d tokenizers, expected at least 100 and 10", texts, len(all))
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}
