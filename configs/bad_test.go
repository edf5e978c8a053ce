package configs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// wrong expects an error that says so and matches ErrInvalid. Lists in the text are as in [Filled].
func wrong(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want = Filled(want); !errors.Is(err, ErrInvalid) || err.Error() != want {
		t.Errorf("%s\nfound    %v\nexpected %s", what, err, want)
	}
}

// Every testdata/<name>.bad.yaml has one mistake. All that is said about it stands in the file, in
// comments, without the name of the file that begins every line.
func TestBadFiles(t *testing.T) {
	for path, src := range badFiles(t) {
		file := filepath.Base(path)
		var want []string
		for line := range strings.Lines(src) {
			if message, found := strings.CutPrefix(line, "# says "); found {
				want = append(want, file+":"+strings.TrimSpace(message))
			}
		}
		c, err := Parse(file, []byte(src), nil)
		if c != nil {
			t.Errorf("%s: found %+v, expected no configuration", file, c)
		}
		wrong(t, file, err, strings.Join(want, "\n"))
	}
}

// Sources that would be no text files of their own.
func TestBadSources(t *testing.T) {
	longer := "data: {table: x, label: l, classes: [a, b], mean: [0], std: [1], columns: [" // once it is written in full
	for i := range 1000 {
		longer += fmt.Sprintf("a%059d,\n", i)
	}
	longer += "]}\nprivacy: {epsilon: 3}\n"
	for src, want := range map[string]string{
		"":                                      "f.yaml:1:1: found nothing, expected a mapping with the keys {}",
		"name,sick\nAda,yes\n":                  "f.yaml:1:1: found text, expected a mapping with the keys {}",
		strings.Repeat("# x\n", 300_000):        "f.yaml:1:1: found more than 65536 bytes, expected at most 65536",
		smallest + "run: {name: \"\x1b[2J\"}\n": "f.yaml:3:1: found the control character U+001B, expected printable text",
		strings.Replace(folderBase, "pictures", `"a\x1bb"`, 1):     `f.yaml:1:16: data.folder: found the text "a\x1bb", expected the path of a folder`,
		smallest + "model: {layers: [" + strings.Repeat("{", 2000): "f.yaml:3:1: found more than 2000 opening brackets, expected at most 2000",
		longer:                              "f.yaml:1:1: in the resolved configuration: found more than 65536 bytes, expected at most 65536",
		smallest + `run: {name: "\x1b[2J"}`: `f.yaml:3:13: run.name: found the text "\x1b[2J", expected ` + runName.Expected(),
		smallest + "model:\n  layers: [" + strings.Repeat("residual: {body: [", 10) + "relu" + strings.Repeat("]}", 10) + "]\n": "f.yaml:4:173: model.layers[0]" + strings.Repeat(".residual.body[0]", 8) + ".residual.body: found residual blocks more than 8 deep, expected at most 8",
	} {
		_, err := Parse("f.yaml", []byte(src), nil)
		wrong(t, printable(src), err, want)
	}
}

// must returns a function that returns v, or fails the test with err.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test with err, unless that is nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
