package data

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/setting"
)

// Owners are in the order of the examples, whatever class and whoever's name begins with another's.
func TestOwnersOfPictures(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"train/cat/ann_1.png", "train/cat/ann_2.png", "train/cat/ann_lee_1.png", "train/dog/ann_3.png", "train/dog/bob_9.png", "train/dog/ju\u0308_1.png", "test/cat/x.png", "test/dog/y.png"} {
		write(t, nil, folder, filepath.FromSlash(name)) // names are all that is read
	}
	spec := Spec{Folder: folder, Classes: []string{"cat", "dog"}, Size: setting.Size{Height: 1, Width: 1}, Channels: 1, Group: "prefix"}
	found, err := Owners(spec)
	if want := []string{"ann", "ann", "ann_lee", "ann", "bob", "j\u00fc"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q (%v), expected %q", found, err, want)
	}
	for _, nobody := range []string{"stray.png", "_1.png", " _1.png"} {
		path := filepath.Join(folder, "train", "cat", nobody)
		check(t, os.WriteFile(path, nil, 0o600))
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
		check(t, os.WriteFile(filepath.Join(folder, "train.csv"), []byte(train), 0o600))
	}
	spec := Spec{Table: folder, Columns: []string{"x"}, Label: "y", Classes: []string{"a", "b"}, Group: "who"}
	table("who,x,y\nann,1,a\nbob,2,b\nann ,3,a\nj\u00fc,1,a\nju\u0308,1,b\n\u00a0ju\u0308\t,1,b\n")
	if found, err := Owners(spec); err != nil || !slices.Equal(found, []string{"ann", "bob", "ann", "j\u00fc", "j\u00fc", "j\u00fc"}) {
		t.Errorf("found %q, %v", found, err)
	}
	for train, says := range map[string]string{"who,x,y\nann,1,a\n,2,b\n": "whose record", "who,x,y\n\u00a0,2,b\n": "whose record", "who,x,y\n\" \",2,b\n": "whose record", "x,y\n1,a\n": ""} {
		table(train)
		if _, err := Owners(spec); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: found %v, expected an error with %q", train, err, says)
		}
	}
}

// manyOwners are 1 example of person 0, 2 of person 1, and so on, in turn.
func manyOwners(persons int) []string {
	var list []string
	for round := range persons {
		for p := round; p < persons; p++ {
			list = append(list, fmt.Sprint("person_", p))
		}
	}
	return list
}

// Every example belongs to its owner, none of whom has more than what is kept of theirs.
func TestExamplesOfPersons(t *testing.T) {
	list := manyOwners(9)
	for _, most := range []int{0, 1, 4, 100} {
		own := ByOwner(list, most, 1)
		if len(own) != 9 {
			t.Fatalf("found %d persons, expected 9", len(own))
		}
		for p, examples := range own {
			want := min(p+1, cmp.Or(most, 9))
			if len(examples) != want || len(slices.Compact(slices.Clone(examples))) != want || !slices.IsSorted(examples) {
				t.Errorf("at most %d: person %d has %v, expected %d examples", most, p, examples, want)
			}
			for _, i := range examples {
				if list[i] != fmt.Sprint("person_", p) {
					t.Errorf("example %d of %s went to person %d", i, list[i], p)
				}
			}
		}
	}
}

// Which examples of a person are kept does not depend on anybody else: not on whether others are
// there, nor on how many examples they have.
func TestKeptExamplesDependOnThePersonAlone(t *testing.T) {
	all, without := slices.Repeat([]string{"ann", "bob", "cem"}, 20), slices.Repeat([]string{"ann", "cem"}, 20)
	// The examples of a person by their number among theirs.
	kept := func(list []string, who string) (numbers []int) {
		for _, examples := range ByOwner(list, 5, 7) {
			if list[examples[0]] != who {
				continue
			}
			number := 0
			for i, owner := range list {
				if owner == who {
					if slices.Contains(examples, i) {
						numbers = append(numbers, number)
					}
					number++
				}
			}
		}
		return numbers
	}
	for _, who := range []string{"ann", "cem"} {
		if with, alone := kept(all, who), kept(without, who); !slices.Equal(with, alone) || len(with) != 5 {
			t.Errorf("of %s %v are kept beside bob and %v without", who, with, alone)
		}
	}
	if slices.Equal(kept(all, "ann"), kept(all, "cem")) || reflect.DeepEqual(ByOwner(all, 5, 7), ByOwner(all, 5, 8)) {
		t.Error("two persons keep the same numbers, or two seeds the same examples, expected a draw of each")
	}
}
