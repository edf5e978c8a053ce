package exchange_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/exchange"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/trained"
)

// The model in the folder of a run was trained on that run's data, though the file itself does not say
// so: nobody is told to declare it as public. What is written from it says so, too. Of weights that say nothing
// of their origin a person has to: the line is left open, and a configuration without it is refused.
func TestImportedModelOfARunIsPrivate(t *testing.T) {
	dir, _ := tinyrun.OnPictures(t, tinyrun.PictureFolder(t))
	c := tiny.Must(folder.ReadConfig(dir))(t)
	own := filepath.Join(dir, folder.Model)
	to, alone := filepath.Join(t.TempDir(), "start.safetensors"), filepath.Join(t.TempDir(), "weights.safetensors")
	tiny.Write(t, alone, tiny.Read(t, own))
	for _, test := range []struct {
		path    string
		private bool
		line    string
	}{
		{own, true, "init_trained_on: private"},
		{to, true, "init_trained_on: private"},
		{alone, false, "\n  init_trained_on: # "},
	} {
		i := tiny.Must(exchange.Import(test.path, c, to))(t)
		hasEpsilon := slices.ContainsFunc(i.About, func(f trained.Fact) bool { return f.Key == "privacy.epsilon" })
		if hasEpsilon != test.private || !strings.Contains(i.YAML, test.line) {
			t.Errorf("%s: found %+v, expected %q, and the guarantee of the run or none", test.path, i, test.line)
		}
	}
}
