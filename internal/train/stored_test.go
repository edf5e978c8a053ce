package train_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/books"
	"dpsgd/internal/folder"
	"dpsgd/internal/slow"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
	"dpsgd/internal/train"
)

// picturesIn is a folder called stripes with the tiny pictures, in class folders or tar files.
func picturesIn(t *testing.T, shards bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stripes")
	tiny.Files(t, dir, tiny.Source(t, tiny.Examples), shards)
	return dir
}

// folderConfig trains on a folder.
func folderConfig(t *testing.T, dir string, overrides ...string) *configs.Config {
	t.Helper()
	return tiny.Parse(t, append(folderOverrides(dir), overrides...)...)
}

func folderOverrides(dir string) []string {
	return []string{"data.folder=" + dir, "data.classes=[top, middle, bottom]", "data.size=6", "data.channels=1"}
}

// small lets few of the 14,040 bytes of pictures stay in memory.
const small = "performance.data_memory=1KB"

// The same pictures are one data set, whether they lie in folders or tar files and however many of
// them are in memory: their runs add up, and a run goes on under another of these.
func TestStoredPicturesAreTheSameData(t *testing.T) {
	o := reading(t)
	for _, shards := range []bool{false, true} {
		for _, memory := range []string{"performance.data_memory=auto", small} {
			c := folderConfig(t, picturesIn(t, shards), memory)
			result := tinyrun.Fit(t, tinyrun.Create(t, c, o))
			if !(result.TestAccuracy > 0.8) {
				t.Errorf("shards %t, %s: found a test accuracy of %v, expected that of data that can be learnt", shards, memory, result.TestAccuracy)
			}
			score, err := train.Examine(result.Run, train.Options{})
			if err != nil || score.TestAccuracy != result.TestAccuracy || score.Pictures == nil {
				t.Errorf("shards %t, %s: evaluated, found %v (%v), expected %v and pictures", shards, memory, score.TestAccuracy, err, result.TestAccuracy)
			}
		}
	}
	info, err := books.ReadDatasets(o.RunsDir)
	if err != nil || len(info.Members) != 4 {
		t.Fatalf("found %+v (%v), expected four runs", info.Members, err)
	}
	for _, m := range info.Members {
		if m.Data != info.Members[0].Data {
			t.Errorf("found the data %+v and %+v, expected the same", m.Data, info.Members[0].Data)
		}
	}
}

// A run that began with all pictures in memory goes on with few of them there.
func TestResumeWithLessMemory(t *testing.T) {
	stopped := tinyrun.Interrupted(t, 6, reading(t), folderOverrides(picturesIn(t, false))...)
	path := filepath.Join(stopped.Run, "config.yaml")
	tiny.Write(t, path, strings.Replace(tiny.Read(t, path), "performance:\n", "performance:\n  data_memory: 1KB\n", 1))
	if result := tinyrun.Fit(t, tinyrun.Open(t, stopped.Run, train.Options{})); result.Steps != 12 {
		t.Errorf("found %d steps, expected 12", result.Steps)
	}
}

// Persons are those that the names say, in tar files as in folders.
func TestPersonsInShards(t *testing.T) {
	for _, shards := range []bool{false, true} {
		c := folderConfig(t, picturesIn(t, shards), small, "privacy.unit=person", "data.group=prefix", "privacy.delta=1e-3")
		d, err := train.Describe(c, 0)
		if err != nil || d.Data.People != 100 || d.Data.Examples != tiny.Examples {
			t.Errorf("shards %t: found %+v (%v), expected 100 people", shards, d, err)
		}
		if result := tinyrun.Fit(t, tinyrun.Create(t, c, reading(t))); result.Steps != 12 {
			t.Errorf("shards %t: found %d steps", shards, result.Steps)
		}
	}
}

// Features are those of the same pictures.
func TestFeaturesOfStoredPictures(t *testing.T) {
	large := tiny.Large(t)
	dir := filepath.Join(t.TempDir(), "stripes")
	tiny.Files(t, dir, large, true)
	o := reading(t)
	for _, memory := range []string{"auto", "1KB"} {
		c := folderConfig(t, dir, append(tiny.Features, "data.size=12", "performance.data_memory="+memory)...)
		tinyrun.Fit(t, tinyrun.Create(t, c, o))
	}
	if files, err := filepath.Glob(filepath.Join(o.RunsDir, folder.Features, "*.train")); err != nil || len(files) != 1 {
		t.Errorf("found %q (%v), expected the features of one data set", files, err)
	}
}

// A picture that cannot be read is found before a run has a folder.
func TestStoredPicturesAreCheckedFirst(t *testing.T) {
	dir := picturesIn(t, false)
	tiny.Write(t, filepath.Join(dir, "train", "top", "broken.png"), "no picture")
	o := reading(t)
	_, err := train.Create(folderConfig(t, dir, small), o)
	if !errors.Is(err, data.ErrInvalid) || !strings.Contains(err.Error(), filepath.Join("top", "broken.png")) {
		t.Errorf("found %v, expected the picture", err)
	}
	if _, err := os.Stat(o.RunsDir); err == nil {
		t.Error("found a folder of runs")
	}
}

// A picture that vanishes while the run is at work stops it: the step has its event and no release,
// and the run goes on when the picture is back. What the error says is the same whichever picture
// it was, whatever the records of the run are, because it would tell who was drawn.
func TestStoredPictureVanishes(t *testing.T) {
	said, dir := map[string]bool{}, picturesIn(t, false)
	for name, overrides := range map[string][]string{
		"examples": {"training.sampling=full"},
		"persons":  {"training.sampling=full", "privacy.unit=person", "data.group=prefix", "privacy.delta=1e-3"},
		"clients":  {"training.sampling=full", "federated.clients=30", "privacy.delta=1e-3"},
	} {
		classes := []string{"top", "bottom"}
		if name == "clients" && !slow.Asked() {
			classes = classes[1:]
		}
		for _, class := range classes {
			folder := filepath.Join(dir, "train", class)
			c := folderConfig(t, dir, append([]string{small, "training.steps=4"}, overrides...)...)
			o := reading(t)
			o.Stepped = func(p train.Progress) {
				if p.Step == 2 {
					tiny.Check(t, os.Rename(folder, folder+"-away"))
				}
			}
			r := tinyrun.Create(t, c, o)
			_, err := r.Fit(t.Context())
			if !errors.Is(err, data.ErrInvalid) || strings.Contains(err.Error(), class) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "train data check") {
				t.Errorf("%s: found %v, expected one line that says how to find the picture and not which one it is", name, err)
			}
			said[strings.ReplaceAll(err.Error(), r.Dir, "RUN")] = true
			tiny.Check(t, r.Close())
			if n := tiny.Releases(t, r.Dir); n != 3 {
				t.Errorf("%s: found %d events, expected those of 2 steps and of the one that failed", name, n)
			}
			tiny.Check(t, os.Rename(folder+"-away", folder))
			if name != "examples" {
				continue
			}
			if result := tinyrun.Fit(t, tinyrun.Open(t, r.Dir, train.Options{})); result.Steps != 1 || result.LedgerEntries != 4 {
				t.Errorf("found %d steps and %d releases, expected 1 and 4", result.Steps, result.LedgerEntries)
			}
		}
	}
	if len(said) != 1 {
		t.Errorf("found %d messages, expected one for all pictures: %q", len(said), slices.Collect(maps.Keys(said)))
	}
}
