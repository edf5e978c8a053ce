package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
)

// The sheet is a PNG of as many pictures as were asked for, the same for the same seed.
func TestFeaturesShow(t *testing.T) {
	sheet := func(name string, more ...string) string {
		path := filepath.Join(t.TempDir(), name)
		out := succeed(t, append([]string{"features", "show", "--out", path, "--pictures", "9"}, more...)...)
		if !strings.Contains(out, "nobody's pictures") {
			t.Errorf("found %q", out)
		}
		f, err := os.Open(path)
		tiny.Check(t, err)
		defer f.Close()
		if shown, err := png.Decode(f); err != nil || shown.Bounds().Dx() != 3*32+2*2 {
			t.Errorf("found a picture of %v (%v), expected 3 by 3 of 32 pixels", shown.Bounds(), err)
		}
		content := []byte(tiny.Read(t, path))
		return string(content)
	}
	first := sheet("a.png")
	if sheet("b.png") != first || sheet("c.png", "--set", "features.seed=9") == first {
		t.Error("a sheet does not follow from its seed")
	}
	for want, args := range map[string][]string{
		"has no features, expected features.name patches or scattering": {"features", "show", "digits"},
		"--pictures is 0, expected a number from 1 to 1024":             {"features", "show", "--pictures", "0"},
		`found no preset and no file "cifar-bst"`:                       {"features", "show", "cifar-bst"},
	} {
		got := command(args...)
		if got.code != shell.ExitUsage || !strings.Contains(got.err, want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%v: found %d, %q, expected %q", args, got.code, got.err, want)
		}
	}
}
