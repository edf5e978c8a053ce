package folder_test

import (
	"testing"

	"dpsgd/internal/folder"
)

// What is copied from a message into a shell is one argument there.
func TestArgument(t *testing.T) {
	for path, want := range map[string]string{
		"runs/digits-1":    "runs/digits-1",
		"my runs/a":        "'my runs/a'",
		"Bücher/1":         "Bücher/1",
		"it's":             `'it'\''s'`,
		"a;b":              "'a;b'",
		"$HOME":            "'$HOME'",
		"-x":               "'./-x'",
		"":                 "''",
		`C:\runs\digits-1`: `C:\runs\digits-1`,
	} {
		if found := folder.Argument(path); found != want {
			t.Errorf("%q: found %s, expected %s", path, found, want)
		}
	}
}
