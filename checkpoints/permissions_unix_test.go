//go:build unix

package checkpoints

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Under a umask that forbids nothing, every file is still 0600 and every directory 0700.
func TestPermissionsUnderUmaskZero(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	base := t.TempDir()
	run := filepath.Join(base, "runs", "one")
	j := must(CreateJournal(filepath.Join(run, "ledger.jsonl")))
	defer j.Close()
	must(0, j.Append(1, event(1.1)))
	must(Save(filepath.Join(run, "checkpoints"), runState(1, j)))
	must(0, WriteFileAtomic(filepath.Join(run, "metrics.jsonl"), nil, 0))
	must(0, WriteModel(filepath.Join(run, "model.safetensors"), sampleTensors, nil))
	must(0, must(CreateDatasets(filepath.Join(base, "runs", "datasets.jsonl"))).Close())

	seen := 0
	must(0, filepath.WalkDir(filepath.Join(base, "runs"), func(path string, e fs.DirEntry, err error) error {
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info := must(e.Info()); info.Mode().Perm() != want {
			t.Errorf("%s has permissions %v, want %v", path, info.Mode().Perm(), want)
		}
		seen++
		return err
	}))
	if seen != 8 {
		t.Errorf("found %d files and directories, want 8", seen)
	}

	shared := filepath.Join(run, "shared")
	must(0, WriteFileAtomic(shared, nil, 0o644))
	if info := must(os.Stat(shared)); info.Mode().Perm() != 0o644 {
		t.Errorf("permissions 0644 were asked for, got %v", info.Mode().Perm())
	}
}

// The temporary file is created exclusively, private from the first moment, beside its target, and
// under a name that nobody can prepare.
func TestTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	exclusively := fmt.Sprintf("open %#x %v", os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(0o600))
	var names []string
	spy := &faultyDisk{failAt: -1, seen: func(call, path string) {
		if call == exclusively {
			names = append(names, path)
		}
	}}
	for range 2 {
		must(save(spy, dir, sampleState(1)))
	}
	if len(names) != 2 || names[0] == names[1] || !strings.HasPrefix(names[0], filepath.Join(dir, ".checkpoint-1.ckpt")) {
		t.Errorf("created %q as %s", names, exclusively)
	}
}

// Two processes must not each hold the lock of another file under one name.
func TestReplacedLedgerIsRefused(t *testing.T) {
	j, path := newJournal(t, 1)
	j.Close()
	must(0, os.WriteFile(path+".other", must(os.ReadFile(path)), 0o600))
	swap := &faultyDisk{failAt: -1, seen: func(call, _ string) {
		if call == "lock" {
			must(0, os.Rename(path+".other", path))
		}
	}}
	_, err := openJournal(swap, path)
	wantError(t, err, ErrMoved, path, "found another file than the one opened")
}

func init() { mkfifo = func(path string) error { return unix.Mkfifo(path, 0o600) } }
