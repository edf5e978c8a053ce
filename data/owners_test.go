package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Owners are in the order of the examples, whatever class and whoever's name begins with another's.
func TestOwnersOfPictures(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"train/cat/ann_1.png", "train/cat/ann_2.png", "train/cat/ann_lee_1.png", "train/dog/ann_3.png", "train/dog/bob_9.png", "test/cat/x.png", "test/dog/y.png"} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil { // names are all that is read
			t.Fatal(err)
		}
	}
	spec := Spec{Folder: folder, Classes: []string{"cat", "dog"}, Height: 1, Width: 1, Channels: 1, Group: "prefix"}
	found, err := Owners(spec)
	if want := []string{"ann", "ann", "ann_lee", "ann", "bob"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q (%v), expected %q", found, err, want)
	}
	for _, nobody := range []string{"stray.png", "_1.png"} {
		path := filepath.Join(folder, "train", "cat", nobody)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Owners(spec); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), nobody) {
			t.Errorf("a picture of nobody: found %v, expected an error with its name", err)
		}
		os.Remove(path)
	}
}

// A record that names nobody is refused by its place, without what stands there.
func TestOwnersOfRecords(t *testing.T) {
	folder := t.TempDir()
	table := func(train string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "train.csv"), []byte(train), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := Spec{Table: folder, Columns: []string{"x"}, Label: "y", Classes: []string{"a", "b"}, Group: "who"}
	table("who,x,y\nann,1,a\nbob,2,b\nann,3,a\n")
	if found, err := Owners(spec); err != nil || !slices.Equal(found, []string{"ann", "bob", "ann"}) {
		t.Errorf("found %q, %v", found, err)
	}
	table("who,x,y\nann,1,a\n,2,b\n")
	if _, err := Owners(spec); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "whose record") {
		t.Errorf("a record of nobody: found %v", err)
	}
	table("x,y\n1,a\n")
	if _, err := Owners(spec); !errors.Is(err, ErrInvalid) {
		t.Errorf("no such column: found %v", err)
	}
}
