package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"dpsgd/internal/disk"
)

// Every release is synced once in each ledger, and every name once in its directory.
func TestReleasesAreSynced(t *testing.T) {
	synced := map[string]int{}
	spy := &faultyDisk{failAt: -1, seen: func(call, path string) {
		if call == "sync" {
			synced[filepath.Base(path)]++
		}
	}}
	base := filepath.Join(t.TempDir(), "runs")
	d := must(createDatasets(spy, filepath.Join(base, "datasets.jsonl")))
	defer d.Close()
	d.together = inOrder // the spy is for one goroutine
	j := must(createJournal(spy, filepath.Join(base, "one", "ledger.jsonl"), d.Info().ID))
	defer j.Close()
	must(0, d.Register(j, testRegistration))
	if synced["one"] == 0 || synced["runs"] < 2 {
		t.Errorf("found syncs %v, expected those of the names in runs and one", synced)
	}
	clear(synced)
	for step := range 5 {
		must(0, j.AppendWith(d, step+1, event(1)))
	}
	if want := map[string]int{"ledger.jsonl": 5, "datasets.jsonl": 5}; !maps.Equal(synced, want) {
		t.Errorf("found syncs %v, expected %v", synced, want)
	}
}

// Folders for runs, and those of runs, have durable names: each is synced where it was made, and one
// that is found, too, because its maker may have been killed before.
func TestNewFoldersAreSynced(t *testing.T) {
	var synced []string
	disk.System = &faultyDisk{failAt: -1, seen: func(call, path string) {
		if call == "sync" {
			synced = append(synced, filepath.Base(path))
		}
	}}
	defer func() { disk.System = disk.Real{} }()
	dir := filepath.Join(t.TempDir(), "folder")
	must(0, os.Mkdir(dir, dirPerm))
	runs := filepath.Join(dir, "new", "runs")
	must(0, errors.Join(MakeDir(runs), MakeDir(runs), NewDir(filepath.Join(runs, "one"))))
	if err := NewDir(filepath.Join(runs, "one")); !errors.Is(err, fs.ErrExist) || fmt.Sprint(synced) != "[001 folder new new runs]" {
		t.Errorf("found syncs of %v and error %v, expected those of folder, new, runs, runs and one, and fs.ErrExist", synced, err)
	}
	disk.System = &faultyDisk{failAt: 1} // behind the look whether it is there
	wantError(t, MakeDir(runs), errInjected, "sync directory")
}
