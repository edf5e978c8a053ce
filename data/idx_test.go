package data

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	s, err := set.Dataset.load(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
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
		"magic":             {"train-images", changed(images, 3, 1), []string{"train-images starts with the number 0x00000801, expected 0x00000803"}},
		"type":              {"train-labels", changed(labels, 2, 0x0d), []string{"train-labels starts with the number 0x00000d01, expected 0x00000801"}},
		"count":             {"train-images", changed(images, 7, 4), []string{"train-images holds 12 values, expected 16 from its dimensions [4 2 2]"}},
		"sides":             {"train-images", changed(changed(images, 11, 1), 15, 4), []string{"train-images holds pictures of 1 by 4 pixels, expected 2 by 2"}},
		"huge":              {"train-images", idx(idxImagesMagic, []uint32{1<<31 - 1, 1<<31 - 1, 1<<31 - 1}, make([]byte, 12)), []string{"multiply to more than memory can hold"}},
		"label":             {"train-labels", changed(labels, 10, 2), []string{"train-labels", "label 2 of record 2, expected 0 to 1"}},
		"one pixel":         {"train-images", changed(images, 16, 9), []string{"train-images has the SHA-256", "expected " + shorten(set.idxFiles[0].SHA256)}},
		"one label":         {"train-labels", changed(labels, 8, 0), []string{"train-labels has the SHA-256"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, f := range set.idxFiles {
				write(t, contents[i], dir, "tiny", f.Name)
			}
			write(t, c.content, dir, "tiny", c.file)
			_, err := set.Dataset.load(dir, 0)
			wantError(t, err, ErrInvalid, c.says...)
		})
	}
}

func TestUnequalCountsOfPicturesAndLabels(t *testing.T) {
	_, contents := tiny()
	_, err := parseIDXPair(unpacked{name: "pictures", content: contents[0]}, unpacked{name: "labels", content: contents[3]}, Shape{2, 2, 1}, []string{"a", "b"})
	wantError(t, err, ErrInvalid, "labels holds 1 labels, expected 3, one for each picture of pictures")
}

func TestMissingSetNamesTheWaysOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mnist", "fashion-mnist", "cifar-10"} {
		_, err := Load(Spec{Name: name, Dir: dir})
		wantError(t, err, ErrMissing, name+" is not at "+filepath.Join(dir, name), "`train data fetch "+name+" --data-dir ", "--data-dir DIR", "DPSGD_DATA")
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
	set, contents := tiny()
	dir := t.TempDir()
	for i, f := range set.idxFiles[:3] {
		write(t, contents[i], dir, "tiny", f.Name)
	}
	if err := os.MkdirAll(filepath.Join(dir, "tiny", set.idxFiles[3].Name), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := set.Dataset.load(dir, 0)
	wantError(t, err, ErrInvalid, "test-labels is a folder, expected a regular file")
}

func TestUnknownSet(t *testing.T) {
	_, err := Load(Spec{Name: "imagenet"})
	wantError(t, err, nil, `"imagenet"`, strings.Join(Names(), ", "))
	_, err = Load(Spec{Name: "mnist", Folder: "here"})
	wantError(t, err, nil, `"mnist"`, `"here"`, "expected one")
}

// Whatever the bytes, the parser answers with values of the declared dimensions or
// an error.
func FuzzIDX(f *testing.F) {
	_, contents := tiny()
	f.Add(contents[0], true)
	f.Add(contents[1], false)
	f.Add(idx(idxImagesMagic, []uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, nil), true)
	f.Add(idx(idxImagesMagic, []uint32{0, 1, 2}, nil), true)
	f.Add([]byte{0, 0, 8}, false)
	f.Fuzz(func(t *testing.T, content []byte, pictures bool) {
		magic := uint32(idxLabelsMagic)
		if pictures {
			magic = idxImagesMagic
		}
		dims, values, err := parseIDX(content, "fuzz", magic)
		if err != nil {
			wantError(t, err, ErrInvalid)
			return
		}
		if want, err := product(dims...); err != nil || len(values) != want {
			t.Errorf("%d values for dimensions %v", len(values), dims)
		}
	})
}
