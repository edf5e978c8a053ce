package data

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

func TestIDXFilesArePackedOrPlain(t *testing.T) {
	set, contents := tiny()
	dir := t.TempDir()
	for i, f := range set.idxFiles {
		if i%2 == 0 {
			write(t, pack(contents[i]), dir, "tiny", f.Name+".gz")
		} else {
			write(t, contents[i], dir, "tiny", f.Name)
		}
	}
	s := must(set.Dataset.load(dir, 0))
	if s.Train.Len() != 3 || s.Test.Len() != 1 || s.Train.Shape() != (Shape{2, 2, 1}) {
		t.Fatalf("got %d and %d pictures of %v", s.Train.Len(), s.Test.Len(), s.Train.Shape())
	}
	if got := s.Train.(*Images).Pixels(1); !bytes.Equal(got, []byte{10, 11, 12, 13}) || s.Train.Label(1) != 0 || s.Train.Label(2) != 1 {
		t.Errorf("picture 1 is %v with label %d", got, s.Train.Label(1))
	}
}

// Each mistake in one of the four files is described by one line.
func TestBrokenIDXFiles(t *testing.T) {
	set, contents := tiny()
	images, labels := contents[0], contents[1]
	changed := func(content []byte, at int, value byte) []byte {
		c := bytes.Clone(content)
		c[at] = value
		return c
	}
	for name, c := range map[string]struct {
		file    string // relative to the folder of the set
		content []byte
		says    []string
	}{
		"truncated":         {"train-images", images[:20], []string{"train-images ends after 20 bytes, expected 28"}},
		"empty":             {"train-labels", nil, []string{"train-labels ends after 0 bytes, expected 11"}},
		"trailing byte":     {"train-images", append(bytes.Clone(images), 0), []string{"train-images goes on after 28 bytes, expected its end"}},
		"packed, truncated": {"train-images.gz", pack(images[:27]), []string{"train-images.gz (unpacked) ends after 27 bytes, expected 28"}},
		"packed, too long":  {"train-images.gz", pack(append(bytes.Clone(images), 0)), []string{"train-images.gz (unpacked) goes on after 28 bytes"}},
		"gzip cut off":      {"train-images.gz", pack(images)[:25], []string{"train-images.gz (unpacked) ends after"}},
		"gzip and more":     {"train-images.gz", append(pack(images), 'x'), []string{"end of", "train-images.gz (unpacked)"}},
		"not gzip":          {"train-images.gz", images, []string{"train-images.gz is not a gzip file"}},
		"one pixel":         {"train-images", changed(images, 16, 9), []string{"train-images has the SHA-256", "expected " + set.idxFiles[0].SHA256[:16]}},
		"one label":         {"train-labels", changed(labels, 8, 0), []string{"train-labels has the SHA-256"}},
	} {
		t.Run(name, func(t *testing.T) {
			set, _, dir := tinyFolder(t)
			write(t, c.content, dir, "tiny", c.file)
			_, err := set.Dataset.load(dir, 0)
			wantError(t, err, ErrInvalid, c.says...)
		})
	}
}

func TestDirComesFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(DirVariable, dir)
	if DefaultDir() != dir {
		t.Errorf("default is %q, expected %q", DefaultDir(), dir)
	}
	_, err := Load(Spec{Name: "mnist"})
	wantError(t, err, ErrMissing, dir)
}

func TestFolderInPlaceOfAFile(t *testing.T) {
	set, _, dir := tinyFolder(t)
	name := filepath.Join(dir, "tiny", set.idxFiles[3].Name)
	check(t, errors.Join(os.Remove(name), os.Mkdir(name, 0o755)))
	_, err := set.Dataset.load(dir, 0)
	wantError(t, err, ErrInvalid, "test-labels is a folder, expected a regular file")
}

func TestUnknownSet(t *testing.T) {
	_, err := Load(Spec{Name: "imagenet"})
	wantError(t, err, nil, `"imagenet"`, strings.Join(Names(), ", "))
	_, err = Load(Spec{Name: "mnist", Folder: "here"})
	wantError(t, err, nil, `"mnist"`, `"here"`, "expected one")
}

// Whatever a file of the IDX format holds, it is read as what is declared or refused with one line.
func FuzzIDX(f *testing.F) {
	set, contents := tiny()
	dir := f.TempDir()
	for i, file := range set.idxFiles {
		write(f, contents[i], dir, "tiny", file.Name)
	}
	labels := &set.idxFiles[1]
	load := func(t testing.TB) {
		s, err := set.Dataset.load(dir, 0)
		if err != nil {
			wantError(t, err, ErrInvalid)
		} else if s.Train.Len() != 3 || slices.Max([]int{s.Train.Label(0), s.Train.Label(1), s.Train.Label(2)}) > 1 {
			t.Errorf("found %d pictures with the labels %d, %d and %d, expected 3 with 0 or 1", s.Train.Len(), s.Train.Label(0), s.Train.Label(1), s.Train.Label(2))
		}
	}
	slow.Inputs(f, [][]byte{contents[1], pack(contents[1]), pack(contents[0])}, func(t testing.TB, input []byte) int64 {
		labels.SHA256 = sum(contents[1])
		packed := write(t, input, dir, "tiny", labels.Name+".gz")
		load(t)
		check(t, os.Remove(packed))
		labels.SHA256 = sum(input) // as if it were the published file
		write(t, input, dir, "tiny", labels.Name)
		load(t)
		return 0
	})
}
