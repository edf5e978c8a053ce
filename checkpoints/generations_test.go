package checkpoints

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestSaveKeepsTwoGenerations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints") // made by Save
	for step := range 12 {                           // 10 comes after 9, also by name
		path, err := Save(dir, sampleState(step))
		if err != nil || path != filepath.Join(dir, FileName(step)) {
			t.Fatalf("Save at step %d: %q, %v", step, path, err)
		}
		got, latest, err := Latest(dir)
		if err != nil || latest != path || !reflect.DeepEqual(got, sampleState(step)) {
			t.Fatalf("Latest after step %d: %v, %q, %v", step, got, latest, err)
		}
	}
	wantNames(t, dir, "checkpoint-10.ckpt", "checkpoint-11.ckpt")
}

// A run that went back to step 4 and goes on leaves the branch that it came from.
func TestSaveAfterGoingBackRemovesLaterSteps(t *testing.T) {
	dir := t.TempDir()
	must(Save(dir, sampleState(4)))
	must(Save(dir, sampleState(8)))
	must(Save(dir, sampleState(7)))
	wantNames(t, dir, "checkpoint-4.ckpt", "checkpoint-7.ckpt")
	must(Save(dir, sampleState(7))) // the same step again is replaced
	wantNames(t, dir, "checkpoint-4.ckpt", "checkpoint-7.ckpt")
}

func TestSaveRemovesOnlyItsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".checkpoint-3.ckpt.tmp-00ff", "checkpoint-03.ckpt", "checkpoint-x.ckpt", "notes", ".notes.tmp-1"} {
		must(0, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	must(Save(dir, sampleState(5)))
	wantNames(t, dir, ".notes.tmp-1", "checkpoint-03.ckpt", "checkpoint-5.ckpt", "checkpoint-x.ckpt", "notes")
}

func TestSaveRefusesWhatLoadWouldRefuse(t *testing.T) {
	dir := t.TempDir()
	must(Save(dir, sampleState(1)))
	must(Save(dir, sampleState(2)))
	diverged := sampleState(3)
	diverged.Parameters[1] = float32(math.NaN())
	_, err := Save(dir, diverged)
	wantError(t, err, ErrNotFinite, "checkpoint-3.ckpt", "parameters: element 1 of 5")
	leading := sampleState(3)
	leading.LedgerEntries = 2
	_, err = Save(dir, leading)
	wantError(t, err, nil, "found 2 ledger entries at step 3")
	unnamed := sampleState(3)
	unnamed.Slots["\xff"] = nil
	_, err = Save(dir, unnamed)
	wantError(t, err, nil, "expected UTF-8")
	wantNames(t, dir, "checkpoint-1.ckpt", "checkpoint-2.ckpt")
}

func TestLatestReportsWhatItPassesOver(t *testing.T) {
	dir := t.TempDir()
	must(Save(dir, sampleState(1)))
	newer := must(Save(dir, sampleState(2)))
	file := must(os.ReadFile(newer))
	must(0, os.WriteFile(newer, file[:100], 0o600))

	s, path, err := Latest(dir)
	wantError(t, err, ErrSkipped, newer, "SHA-256", "expected")
	if s == nil || s.Step != 1 || filepath.Base(path) != "checkpoint-1.ckpt" {
		t.Errorf("went back to %v at %q, want step 1", s, path)
	}

	must(0, os.WriteFile(newer, must(os.ReadFile(path)), 0o600)) // an older state under a newer name
	s, _, err = Latest(dir)
	wantError(t, err, ErrSkipped, newer, "found step 1 inside, expected 2")
	if s == nil || s.Step != 1 {
		t.Errorf("went back to %v, want step 1", s)
	}

	must(0, os.WriteFile(path, nil, 0o600))
	s, path, err = Latest(dir)
	wantError(t, err, ErrNoCheckpoint, "checkpoint-1.ckpt: found 0 bytes", "checkpoint-2.ckpt")
	if s != nil || path != "" {
		t.Errorf("got %v at %q, want nothing", s, path)
	}
}

func TestLatestWithoutCheckpoint(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		_, _, err := Latest(dir)
		wantError(t, err, ErrNoCheckpoint, dir)
	}
}

func TestSaveRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	must(0, os.Mkdir(real, 0o700))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err := Save(link, sampleState(1))
	wantError(t, err, ErrNotRegular, link, "symbolic link")
	must(0, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(real, "checkpoint-1.ckpt")))
	_, err = Save(real, sampleState(1))
	wantError(t, err, ErrNotRegular, "checkpoint-1.ckpt", "symbolic link")
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Save wrote through a link")
	}
	_, err = Save(filepath.Join(real, "checkpoint-1.ckpt", "deeper"), sampleState(1))
	if err == nil {
		t.Error("Save made a directory through a dangling link")
	}
	plain := filepath.Join(dir, "plain")
	must(0, os.WriteFile(plain, nil, 0o600))
	_, err = Save(plain, sampleState(1))
	wantError(t, err, ErrNotRegular, "found a file, expected a folder")
}
