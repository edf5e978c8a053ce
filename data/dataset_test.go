package data

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every row of the table of data sets is declared completely. Each loading checks that the set
// holds what it declares; TestPublishedSets loads those that are here.
func TestEveryDatasetIsDeclaredWhole(t *testing.T) {
	seen := map[string]bool{}
	for i, d := range Datasets() {
		t.Run(d.Name, func(t *testing.T) {
			for _, name := range append([]string{d.Name}, d.Aliases...) {
				if seen[name] {
					t.Errorf("the name %s is taken", name)
				}
				seen[name] = true
			}
			if Find(d.Name) != d || Names()[i] != d.Name {
				t.Error("it is not found by its name")
			}
			if d.Doc == "" || strings.ContainsAny(d.Doc, "\n().") {
				t.Errorf("%q is not a few words for a list", d.Doc)
			}
			if d.Shape.Values() < 1 || d.Train < 1 || d.Test < 1 || len(d.Classes) < 2 || len(d.Classes) > maxClasses {
				t.Errorf("%d and %d examples of %v in %d classes", d.Train, d.Test, d.Shape, len(d.Classes))
			}
			if slices.Contains(Fetchable(), d.Name) != (len(d.Files) > 0) || (len(d.Files) > 0) != (len(d.Mirrors) > 0) {
				t.Errorf("%d files and %d mirrors", len(d.Files), len(d.Mirrors))
			}
			for _, f := range d.Files {
				sum, err := hex.DecodeString(f.SHA256)
				checked := len(sum) == 32 || d.Unpack != nil && f.SHA256 == ""
				if !filepath.IsLocal(f.Name) || f.Size < 1 || err != nil || !checked {
					t.Errorf("file %+v has no name, size or checksum", f)
				}
			}
			if len(d.Files) > 0 {
				dir := t.TempDir()
				_, err := Load(Spec{Name: d.Name, Dir: dir})
				wantError(t, err, ErrMissing, d.Name+" is not at "+filepath.Join(dir, d.Name), "`train data fetch "+d.Name+" --data-dir ", "--data-dir DIR", "DPSGD_DATA")
				return
			}
			s, err := Load(Spec{Name: d.Name, Dir: t.TempDir()})
			if err != nil || s.Name != d.Name {
				t.Errorf("loaded %v, %v", s, err)
			}
		})
	}
}

// A set that holds something else than it declares is refused.
func TestLoadedSetsAreHeldAgainstTheirDeclaration(t *testing.T) {
	set, _, dir := tinyFolder(t)
	if _, err := set.Dataset.load(dir, 0); err != nil {
		t.Fatal(err)
	}
	set.Train = 4
	_, err := set.Dataset.load(dir, 0)
	wantError(t, err, ErrInvalid, `tiny holds 3 training examples of 2x2x1 in the classes "a", "b", expected 4 of 2x2x1`)
	set.Train, set.Test = 3, 2
	_, err = set.Dataset.load(dir, 0)
	wantError(t, err, ErrInvalid, "tiny holds 1 test examples")
}

// An identity stands for the examples without a look at them, so it is theirs alone: it changes
// with every file, and a split of which somebody exchanged a set has none.
func TestIdentityIsThatOfTheExamples(t *testing.T) {
	set, _, dir := tinyFolder(t)
	unverified, err := set.Dataset.load(dir, 0)
	if err != nil || unverified.Identity() != "" {
		t.Fatalf("without checksums: found the identity %q (%v), expected none", unverified.Identity(), err)
	}
	set.Verified = set.idxFiles[:]
	read, err := set.Dataset.load(dir, 0)
	if err != nil || read.Identity() == "" || read.Identity() != set.Identity() {
		t.Fatalf("found the identity %q (%v), expected %q", read.Identity(), err, set.Identity())
	}
	fewer := must(NewImages(set.Shape, set.Classes, []uint8{0}, make([]uint8, set.Shape.Values())))
	for _, exchanged := range []Split{{Train: fewer, Test: read.Test}, {Train: read.Train, Test: fewer}} {
		s := *read
		if s.Train, s.Test = exchanged.Train, exchanged.Test; s.Identity() != "" {
			t.Errorf("with another set: found the identity %q, expected none", s.Identity())
		}
	}
	seen := map[string]string{set.Identity(): "the set itself"}
	for i, f := range set.Verified {
		other := *set.Dataset
		other.Verified = slices.Clone(set.Verified)
		other.Verified[i].SHA256 = strings.Repeat("0", 64)
		if before := seen[other.Identity()]; before != "" {
			t.Errorf("with another %s: found the identity of %s", f.Name, before)
		}
		seen[other.Identity()] = f.Name
	}
	for what, change := range map[string]func(*Dataset){
		"name": func(d *Dataset) { d.Name = "other" }, "shape": func(d *Dataset) { d.Shape.Height++ }, "classes": func(d *Dataset) { d.Classes = []string{"b", "a"} },
	} {
		other := *set.Dataset
		change(&other)
		if before := seen[other.Identity()]; before != "" {
			t.Errorf("with another %s: found the identity of %s", what, before)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	good := Dataset{Name: "mine", Doc: "rows", Shape: Row(2), Classes: []string{"a", "b"}, Train: 1, Test: 1, Load: drawnDigits.Load}
	for says, change := range map[string]func(*Dataset){
		`the name ""`:                    func(d *Dataset) { d.Name = "" },
		`the name "a/b"`:                 func(d *Dataset) { d.Name = "a/b" },
		`the name ".."`:                  func(d *Dataset) { d.Name = ".." },
		"mnist is registered twice":      func(d *Dataset) { d.Name = "mnist" },
		"no function to load it":         func(d *Dataset) { d.Load = nil },
		"or no documentation":            func(d *Dataset) { d.Doc = "" },
		"0 training and 1 test examples": func(d *Dataset) { d.Train = 0 },
		"in 1 classes":                   func(d *Dataset) { d.Classes = []string{"a"} },
		"examples of 0 columns":          func(d *Dataset) { d.Shape = Shape{} },
	} {
		d := good
		change(&d)
		wantError(t, Register(d), nil, says)
	}
	if slices.Contains(Names(), "mine") {
		t.Error("a refused set is registered")
	}
}
