package exchange_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/trained"
)

// The model in the folder of a run was trained on that run's data, though the file itself does not say
// so: nobody is told to declare it as public. What is written from it says so, too.
func TestImportedModelOfARunIsPrivate(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	c, err := folder.ReadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "start.safetensors")
	for _, path := range []string{filepath.Join(dir, folder.Model), to} {
		i, err := exchange.Import(path, c, to)
		if err != nil {
			t.Fatal(err)
		}
		hasEpsilon := slices.ContainsFunc(i.About, func(f trained.Fact) bool { return f.Key == "privacy.epsilon" })
		if !hasEpsilon || !strings.Contains(i.YAML, "init_trained_on: private") {
			t.Errorf("%s: found %+v, expected the guarantee of the run", path, i)
		}
	}
}

// Of weights that say nothing of their origin a person has to: the line is left open, and a
// configuration without it is refused.
func TestImportedWeightsOfUnknownOriginAreLeftOpen(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	c, err := folder.ReadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(dir, folder.Model))
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "weights.safetensors")
	if err := os.WriteFile(alone, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := exchange.Import(alone, c, "")
	if err != nil || !strings.Contains(i.YAML, "\n  init_trained_on: # ") {
		t.Errorf("found %q (%v), expected an open init_trained_on", i.YAML, err)
	}
}
