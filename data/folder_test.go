package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"dpsgd/internal/setting"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// pngOf encodes a picture of one colour.
func pngOf(t *testing.T, width, height int, c color.Color) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.Set(x, y, c)
		}
	}
	return encoded(t, m)
}

func encoded(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, png.Encode(&b, m))
	return b.Bytes()
}

// pets is a valid folder of two classes and the Spec that describes it.
func pets(t *testing.T) Spec {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"train", "test"} {
		for i, class := range []string{"cat", "dog"} {
			write(t, pngOf(t, 4, 4, color.Gray{uint8(50 + 100*i)}), dir, part, class, "b.png")
			write(t, pngOf(t, 4, 4, color.Gray{uint8(60 + 100*i)}), dir, part, class, "a.PNG")
		}
	}
	return Spec{Folder: dir, Classes: []string{"dog", "cat"}, Size: setting.Size{Height: 4, Width: 4}, Channels: 1}
}

func TestFolderIsReadInTheOrderOfClassesAndNames(t *testing.T) {
	spec := pets(t)
	write(t, []byte("notes"), spec.Folder, "train", "cat", "notes.txt")
	write(t, []byte("junk"), spec.Folder, "train", "cat", ".hidden.png")
	write(t, []byte("junk"), spec.Folder, "train", "labels.csv")
	s := must(Load(spec))
	if s.Name != filepath.Base(spec.Folder) || s.Train.Len() != 4 || s.Test.Len() != 4 {
		t.Fatalf("%q has %d and %d pictures", s.Name, s.Train.Len(), s.Test.Len())
	}
	for i, want := range []struct {
		label int
		value uint8
	}{{0, 160}, {0, 150}, {1, 60}, {1, 50}} {
		if s.Train.Label(i) != want.label || s.Train.(*Images).Pixels(i)[0] != want.value {
			t.Errorf("picture %d has label %d and value %d, expected %v", i, s.Train.Label(i), s.Train.(*Images).Pixels(i)[0], want)
		}
	}
}

func TestPicturesAreBroughtToTheDeclaredForm(t *testing.T) {
	gradient := image.NewGray(image.Rect(3, 5, 7, 9)) // bounds that do not start at 0
	for i := range gradient.Pix {
		gradient.Pix[i] = uint8(i * 16)
	}
	orange := color.NRGBA{255, 128, 0, 255}
	for name, c := range map[string]struct {
		content  []byte
		channels int
		want     []uint8 // the first values
	}{
		"grey stays":          {encoded(t, gradient), 1, []uint8{0, 16, 32, 48, 64}},
		"grey in colour":      {encoded(t, gradient), 3, []uint8{0, 0, 0, 16, 16, 16}},
		"colour":              {pngOf(t, 4, 4, orange), 3, []uint8{255, 128, 0, 255, 128, 0}},
		"colour in grey":      {pngOf(t, 4, 4, orange), 1, []uint8{151}}, // 0.299·255 + 0.587·128 = 151.4
		"shrunk":              {pngOf(t, 40, 17, orange), 3, []uint8{255, 128, 0}},
		"enlarged":            {pngOf(t, 1, 1, orange), 3, []uint8{255, 128, 0}},
		"transparent":         {pngOf(t, 4, 4, color.NRGBA{0, 0, 0, 0}), 1, []uint8{255}},
		"half transparent":    {pngOf(t, 4, 4, color.NRGBA{0, 0, 0, 128}), 1, []uint8{127}},
		"transparent, shrunk": {pngOf(t, 9, 9, color.NRGBA{0, 0, 0, 0}), 1, []uint8{255}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := pets(t)
			spec.Channels = c.channels
			write(t, c.content, spec.Folder, "train", "dog", "0.png")
			s := must(Load(spec))
			if got := s.Train.(*Images).Pixels(0)[:len(c.want)]; !bytes.Equal(got, c.want) {
				t.Errorf("values are %v, expected %v", got, c.want)
			}
		})
	}
}

// hugePNG claims 60,000 by 60,000 pixels in a few bytes. Its first chunk: name at
// byte 12, width and height from 16, checksum of name and content at 29.
func hugePNG(t *testing.T) []byte {
	content := pngOf(t, 1, 1, color.White)
	binary.BigEndian.PutUint32(content[16:], 60000)
	binary.BigEndian.PutUint32(content[20:], 60000)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(content[12:29]))
	return content
}

func TestBrokenFolders(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, spec *Spec)
		match  error
		says   []string
	}{
		"no folder":        {func(t *testing.T, s *Spec) { s.Folder = filepath.Join(s.Folder, "x") }, ErrMissing, []string{"there is no folder"}},
		"no test part":     {func(t *testing.T, s *Spec) { os.RemoveAll(filepath.Join(s.Folder, "test")) }, ErrMissing, []string{"no folder", "test", "expected train and test"}},
		"class missing":    {func(t *testing.T, s *Spec) { os.RemoveAll(filepath.Join(s.Folder, "test", "cat")) }, ErrMissing, []string{filepath.Join("test", "cat")}},
		"class undeclared": {func(t *testing.T, s *Spec) { s.Classes = []string{"cat", "cow"} }, ErrInvalid, []string{filepath.Join("train", "dog"), `"cat", "cow"`}},
		"no picture": {func(t *testing.T, s *Spec) {
			os.Remove(filepath.Join(s.Folder, "train", "cat", "a.PNG"))
			os.Remove(filepath.Join(s.Folder, "train", "cat", "b.png"))
		}, ErrMissing, []string{filepath.Join("train", "cat"), "holds no picture, expected .bmp"}},
		"nested folder": {func(t *testing.T, s *Spec) { write(t, nil, s.Folder, "train", "cat", "more", "c.png") }, ErrInvalid, []string{"more", "inside a class"}},
		"folder called png": {func(t *testing.T, s *Spec) { os.Mkdir(filepath.Join(s.Folder, "train", "cat", "c.png"), 0o755) },
			ErrInvalid, []string{"c.png", "inside a class"}},
		"not a picture": {func(t *testing.T, s *Spec) { write(t, []byte("text"), s.Folder, "train", "cat", "c.png") },
			ErrInvalid, []string{filepath.Join("train", "cat", "c.png"), "cannot be decoded"}},
		"cut off": {func(t *testing.T, s *Spec) {
			write(t, pngOf(t, 9, 9, color.White)[:60], s.Folder, "test", "dog", "c.png")
		}, ErrInvalid, []string{filepath.Join("test", "dog", "c.png"), "cannot be decoded"}},
		"absurd size": {func(t *testing.T, s *Spec) { write(t, hugePNG(t), s.Folder, "train", "cat", "c.png") },
			ErrInvalid, []string{"c.png", "60000 by 60000 pixels"}},
		"one class":         {func(t *testing.T, s *Spec) { s.Classes = []string{"cat"} }, ErrInvalid, []string{"1 classes declared"}},
		"class twice":       {func(t *testing.T, s *Spec) { s.Classes = []string{"cat", "cat"} }, ErrInvalid, []string{`"cat" is declared twice`}},
		"class climbs out":  {func(t *testing.T, s *Spec) { s.Classes = []string{"cat", ".."} }, ErrInvalid, []string{`".."`}},
		"class is a path":   {func(t *testing.T, s *Spec) { s.Classes = []string{"cat", "a/b"} }, ErrInvalid, []string{`"a/b"`}},
		"size not declared": {func(t *testing.T, s *Spec) { s.Size.Height = 0 }, ErrInvalid, []string{"0 by 4 pixels"}},
		"four channels":     {func(t *testing.T, s *Spec) { s.Channels = 4 }, ErrInvalid, []string{"4 channels, expected 1 (grey) or 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := pets(t)
			c.change(t, &spec)
			_, err := Load(spec)
			wantError(t, err, c.match, c.says...)
		})
	}
}

// Of several pictures that cannot be read, the first in order is named, however
// many processors read them.
func TestTheFirstBrokenPictureIsNamed(t *testing.T) {
	spec := pets(t)
	for i := range 50 {
		write(t, []byte("text"), spec.Folder, "train", "dog", fmt.Sprintf("broken-%02d.png", i))
	}
	for range 5 {
		_, err := Load(spec)
		wantError(t, err, ErrInvalid, "broken-00.png")
	}
}

// Links to pictures are followed, also out of the folder, and links to folders where a class is
// expected. Any other link is one line.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	link := func(t *testing.T, target string, path ...string) {
		t.Helper()
		check(t, os.Symlink(target, filepath.Join(path...)))
	}
	spec := pets(t)
	outside := write(t, pngOf(t, 4, 4, color.White), t.TempDir(), "outside.png")
	link(t, "a.PNG", spec.Folder, "train", "dog", "inside.png")
	link(t, outside, spec.Folder, "train", "dog", "outside.png")
	moved := filepath.Join(t.TempDir(), "cat")
	check(t, os.Rename(filepath.Join(spec.Folder, "test", "cat"), moved))
	link(t, moved, spec.Folder, "test", "cat")
	if s, err := Load(spec); err != nil || s.Train.Len() != 6 || s.Test.Len() != 4 {
		t.Errorf("found %+v (%v), expected 6 and 4 pictures", s, err)
	}
	for name, c := range map[string]struct {
		target string
		path   []string
		match  error
		says   []string
	}{
		"picture that is gone": {"gone", []string{"train", "dog", "l.png"}, ErrInvalid, []string{filepath.Join("train", "dog", "l.png"), "is a link to nothing, expected a picture"}},
		"folder in a class":    {t.TempDir(), []string{"train", "dog", "more"}, ErrInvalid, []string{filepath.Join("dog", "more"), "a link to a folder, expected pictures only"}},
		"folder as a picture":  {t.TempDir(), []string{"train", "dog", "more.png"}, ErrInvalid, []string{"a link to a folder"}},
		"undeclared class":     {t.TempDir(), []string{"train", "cow"}, ErrInvalid, []string{filepath.Join("train", "cow"), "not one of the declared classes"}},
		"device":               {os.DevNull, []string{"train", "dog", "null.png"}, ErrInvalid, []string{"null.png is a link to a special file"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := pets(t)
			link(t, c.target, append([]string{spec.Folder}, c.path...)...)
			_, err := Load(spec)
			wantError(t, err, c.match, c.says...)
		})
	}
	t.Run("folder that is gone", func(t *testing.T) {
		spec := Spec{Folder: filepath.Join(t.TempDir(), "l"), Classes: spec.Classes, Size: setting.Size{Height: 4, Width: 4}, Channels: 1}
		link(t, "gone", spec.Folder)
		_, err := Load(spec)
		wantError(t, err, ErrMissing, spec.Folder+" is a link to nothing")
	})
}

// All formats of package pictures are read; a few other files are passed over with a warning that
// counts them, and more of them, or no picture at all, are refused.
func TestFilesThatAreNoPictures(t *testing.T) {
	spec := pets(t)
	m := image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.Gray{90}})
	for ext, encode := range map[string]func(io.Writer) error{
		"gif":  func(w io.Writer) error { return gif.Encode(w, m, nil) },
		"bmp":  func(w io.Writer) error { return bmp.Encode(w, m) },
		"TIFF": func(w io.Writer) error { return tiff.Encode(w, m, nil) },
		"jpg":  func(w io.Writer) error { return jpeg.Encode(w, m, nil) },
		"JPEG": func(w io.Writer) error { return jpeg.Encode(w, m, nil) },
	} {
		var b bytes.Buffer
		check(t, encode(&b))
		write(t, b.Bytes(), spec.Folder, "train", "dog", "0."+ext)
	}
	write(t, nil, spec.Folder, "train", "dog", "notes.TXT")
	write(t, nil, spec.Folder, "test", "cat", "Makefile")
	s, err := Load(spec)
	if err != nil || s.Train.Len() != 9 || s.Train.(*Images).Pixels(1)[0] != 90 {
		t.Fatalf("found %+v (%v), expected 9 pictures of which five are new", s, err)
	}
	want := "data: found 2 files (1 without extension, 1 .txt) in " + spec.Folder + " beside the pictures, passed over; read are .bmp, .gif, .jpeg, .jpg, .png, .tif, .tiff, .webp"
	if s.Warning != want {
		t.Errorf("the warning is %q, expected %q", s.Warning, want)
	}
	for i := range 290 {
		write(t, nil, spec.Folder, "train", "dog", fmt.Sprintf("%03d.%s", i, []string{"heic", "avif"}[i%2]))
	}
	for what, read := range map[string]func() error{
		"Load":          func() error { _, err := Load(spec); return err },
		"CountPictures": func() error { _, err := Count(spec, "train"); return err },
	} {
		t.Run(what, func(t *testing.T) {
			wantError(t, read(), ErrInvalid, filepath.Join("train", "dog")+" holds 291 files (145 .avif, 145 .heic, 1 .txt) that are not read, expected pictures: .bmp, .gif")
		})
	}
}
