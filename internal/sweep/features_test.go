package sweep

import (
	"os"
	"path/filepath"
	"testing"

	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// The trials of a sweep share the features that the first of them computed, and what keeps them is
// taken for no run: the books agree, with every trial's mean in its ledger.
func TestSweepOverFeatures(t *testing.T) {
	s := sweepOf(t, string(tiny.Parse(t, tiny.Features...).YAML()), "name: sweep\nbase: base.yaml\ngrid:\n  privacy.clip_norm: [0.1, 1]\n")
	o := sweepOptions(t)
	o.Given = tiny.Large(t)
	runSweep(t, s, o)
	kept, err := os.ReadDir(filepath.Join(o.RunsDir, folder.Features))
	if err != nil || len(kept) != 2 {
		t.Errorf("found %d files with features (%v), expected one for training and one for test", len(kept), err)
	}
	check, err := books.Verify(o.RunsDir, "")
	if err != nil || check.Releases != 2*13 {
		t.Errorf("found %+v (%v), expected two trials of one mean and 12 steps", check, err)
	}
	// A trial that is resumed keeps its features beside it: no trial either.
	if err := os.Rename(filepath.Join(o.RunsDir, folder.Features), filepath.Join(o.RunsDir, "sweep", folder.Features)); err != nil {
		t.Fatal(err)
	}
	if _, err := books.Verify(o.RunsDir, ""); err != nil {
		t.Error(err)
	}
}
