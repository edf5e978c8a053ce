package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
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
	return Spec{Folder: dir, Classes: []string{"dog", "cat"}, Height: 4, Width: 4, Channels: 1}
}

func TestFolderIsReadInTheOrderOfClassesAndNames(t *testing.T) {
	spec := pets(t)
	write(t, []byte("notes"), spec.Folder, "train", "cat", "notes.txt")
	write(t, []byte("junk"), spec.Folder, "train", "cat", ".hidden.png")
	write(t, []byte("junk"), spec.Folder, "train", "labels.csv")
	s, err := Load(spec)
	if err != nil {
		t.Fatal(err)
	}
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
			s, err := Load(spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Train.(*Images).Pixels(0)[:len(c.want)]; !bytes.Equal(got, c.want) {
				t.Errorf("values are %v, expected %v", got, c.want)
			}
		})
	}
}

func TestShrinkingAverages(t *testing.T) {
	// A fine chequerboard shrinks to its mean, not to one of its two colours.
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range m.Pix {
		m.Pix[i] = uint8((i + i/64) % 2 * 255)
	}
	dst := make([]uint8, 16)
	store(dst, m, Shape{4, 4, 1})
	for i, v := range dst {
		if v < 120 || v > 136 {
			t.Errorf("value %d is %d, expected about 127", i, v)
		}
	}
}

func TestJPEG(t *testing.T) {
	spec := pets(t)
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range m.Pix {
		m.Pix[i] = 200
	}
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	write(t, b.Bytes(), spec.Folder, "train", "dog", "0.jpg")
	write(t, b.Bytes(), spec.Folder, "train", "dog", "1.JPEG")
	s, err := Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if v := s.Train.(*Images).Pixels(i)[0]; v < 197 || v > 203 {
			t.Errorf("picture %d has the value %d, expected about 200", i, v)
		}
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
		}, ErrMissing, []string{filepath.Join("train", "cat"), "no .png"}},
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
		"size not declared": {func(t *testing.T, s *Spec) { s.Height = 0 }, ErrInvalid, []string{"0 by 4 pixels"}},
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

func TestLinksStayInsideTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	outside := write(t, pngOf(t, 4, 4, color.White), t.TempDir(), "secret.png")
	spec := pets(t)
	inside := filepath.Join(spec.Folder, "train", "dog", "inside.png")
	if err := os.Symlink("a.PNG", inside); err != nil {
		t.Fatal(err)
	}
	s, err := Load(spec)
	if err != nil || s.Train.Len() != 5 {
		t.Fatalf("a link to a neighbour: %v", err)
	}
	for name, target := range map[string]string{"file": outside, "folder": filepath.Dir(outside)} {
		t.Run(name, func(t *testing.T) {
			spec := pets(t)
			link := filepath.Join(spec.Folder, "train", "dog", "link.png")
			if name == "folder" {
				link = filepath.Join(spec.Folder, "train", "dog")
				os.RemoveAll(link)
			}
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
			_, err := Load(spec)
			wantError(t, err, nil, "path escapes from parent")
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells what is outside: %v", err)
			}
		})
	}
}
