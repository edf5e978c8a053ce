package data

import (
	"errors"
	"fmt"
	"image/color"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A set that is decoded when it is needed fills the same rows as one in memory, as a whole and in
// part, whatever share of it stays in memory; and what stays is said.
func TestStoredIsImages(t *testing.T) {
	spec := pets(t)
	for i := range 30 {
		write(t, pngOf(t, 4, 4, color.NRGBA{uint8(i), uint8(3 * i), uint8(7 * i), 255}), spec.Folder, "train", "dog", fmt.Sprintf("%02d.png", i))
	}
	spec.Channels = 3
	n := Normalisation{Mean: []float64{0.1, 0.2, 0.3}, Std: []float64{1, 0.5, 0.25}}
	images := must(Load(spec))
	if images.Warning != "" {
		t.Error(images.Warning)
	}
	for _, bytes := range []int64{0, 48, 19 * 48, 38*48 - 1, 38 * 48} {
		spec.Memory = func(train, test int) int64 {
			if train != 34 || test != 4 {
				t.Errorf("asked for %d and %d pictures", train, test)
			}
			return bytes
		}
		s, err := Load(spec)
		if err != nil || s.Stored() != (bytes < 38*48) || s.Name != images.Name || s.Identity() != images.Identity() {
			t.Fatalf("%d bytes: found %+v (%v)", bytes, s, err)
		}
		if found := strings.Contains(s.Warning, "% of the pictures stay in memory"); found != s.Stored() {
			t.Errorf("%d bytes: found the warning %q", bytes, s.Warning)
		}
		last := 0
		if err := s.Check(func(n, total int) { last = n }); err != nil || s.Stored() && last != 38 {
			t.Errorf("%d bytes: checked %d pictures (%v), expected 38", bytes, last, err)
		}
		for name, sets := range map[string][2]Set{
			"train": {s.Train, images.Train}, "test": {s.Test, images.Test}, "part": {Select([]int{3, 30}, s.Train), Select([]int{3, 30}, images.Train)},
		} {
			x, labels := whole(t, sets[0], n)
			wantX, wantLabels := whole(t, sets[1], n)
			if !slices.Equal(x, wantX) || !slices.Equal(labels, wantLabels) {
				t.Errorf("%d bytes: %s has other rows than in memory", bytes, name)
			}
		}
	}
}

// Check names the first picture that cannot be read; listing alone does not decode.
func TestCheckFindsWhatCannotBeRead(t *testing.T) {
	spec := pets(t)
	spec.Memory = func(int, int) int64 { return 0 }
	broken := write(t, []byte("text"), spec.Folder, "test", "cat", "c.png")
	s := must(Load(spec))
	wantError(t, s.Check(func(int, int) {}), ErrInvalid, broken, "cannot be decoded")
}

// A batch does not tell which of its examples cannot be read, nor why: the error is the same for
// every example, and for one that is gone, has changed, or is no picture. Whoever checks all
// examples learns it.
func TestBatchDoesNotTellWhoCannotBeRead(t *testing.T) {
	spec := pets(t)
	spec.Memory = func(int, int) int64 { return 0 }
	s := must(Load(spec))
	b := must(NewBatcher(s.Train, Normalisation{Mean: []float64{0}, Std: []float64{1}}))
	said := map[string]bool{}
	for _, name := range []string{filepath.Join("dog", "b.png"), filepath.Join("cat", "a.PNG")} {
		path := filepath.Join(spec.Folder, "train", name)
		kept := must(os.ReadFile(path))
		info := must(os.Stat(path))
		for _, damage := range []func() error{
			func() error { return os.Remove(path) },
			func() error { return os.WriteFile(path, kept[:20], 0o600) },
			func() error { // no picture, of the size and time that were listed
				return errors.Join(os.WriteFile(path, make([]byte, len(kept)), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
			},
		} {
			check(t, damage())
			err := b.Fill(make([]float32, 64), make([]float32, 4), []int{0, 1, 2, 3})
			wantError(t, err, ErrInvalid, "train data check")
			said[fmt.Sprint(err)] = true
			wantError(t, s.Check(func(int, int) {}), ErrInvalid, name)
		}
		check(t, errors.Join(os.WriteFile(path, kept, 0o600), os.Chtimes(path, info.ModTime(), info.ModTime())))
	}
	if len(said) != 1 {
		t.Errorf("found %d messages, expected one for all: %q", len(said), slices.Collect(maps.Keys(said)))
	}
}
