package folder_test

import (
	"os"
	"path/filepath"
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

// Of processes that make a folder at the same time none takes it for a link to nothing.
func TestCheckWhileAFolderIsMade(t *testing.T) {
	for range 2000 {
		dir := filepath.Join(t.TempDir(), "runs")
		made := make(chan error)
		go func() { made <- os.Mkdir(dir, folder.Perm) }()
		for checked := false; !checked; {
			if err := folder.Check(dir, "a folder of runs"); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(dir)
			checked = err == nil
		}
		if err := <-made; err != nil {
			t.Fatal(err)
		}
	}
}
