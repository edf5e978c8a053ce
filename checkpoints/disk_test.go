package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
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

// The syncs of the real file system reach the operating system: it can refuse them, and its refusal
// comes back. A sync that does nothing would say yes to all of these.
func TestDiskReallySyncs(t *testing.T) {
	var synced []string
	really := fsync
	defer func() { fsync = really }()
	fsync = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		return really(f)
	}
	path := filepath.Join(t.TempDir(), "folder", "file")
	must(0, os.Mkdir(filepath.Dir(path), dirPerm))
	f := must(disk{}.OpenFile(path, os.O_RDWR|os.O_CREATE, filePerm))
	must(0, f.Sync())
	must(0, f.Close())
	if err := f.Sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("sync of a closed file: found error %v, expected fs.ErrClosed", err)
	}
	must(0, disk{}.SyncDir(filepath.Dir(path)))
	if want := "[file file folder]"; runtime.GOOS != "windows" && fmt.Sprint(synced) != want {
		t.Errorf("found syncs of %v, expected %v", synced, want)
	}
	if runtime.GOOS == "windows" {
		return // has no sync of a directory
	}
	synced = nil
	runs := filepath.Join(filepath.Dir(path), "new", "runs")
	must(0, errors.Join(MakeDir(runs), MakeDir(runs), NewDir(filepath.Join(runs, "one"))))
	if err := NewDir(filepath.Join(runs, "one")); !errors.Is(err, fs.ErrExist) || fmt.Sprint(synced) != "[folder new runs]" {
		t.Errorf("found syncs of %v and error %v, expected folder, new, runs and fs.ErrExist", synced, err)
	}
	if err := (disk{}).SyncDir(filepath.Join(filepath.Dir(path), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a missing directory: found error %v, expected fs.ErrNotExist", err)
	}
}
