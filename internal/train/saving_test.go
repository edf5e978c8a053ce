package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"
	"dpsgd/internal/tiny"
)

// fullDisk makes checkpoints below a folder fail while full says so, as on a disk without room, and
// pauses short.
func fullDisk(t *testing.T, below string, full func() bool) {
	t.Helper()
	save, waits := saveState, pauses
	t.Cleanup(func() { saveState, pauses = save, waits })
	pauses = slices.Repeat([]time.Duration{time.Millisecond}, 3)
	saveState = func(dir string, s *checkpoints.State) (string, error) {
		if strings.HasPrefix(dir, below) && s.Step > 0 && full() {
			return "", fmt.Errorf("checkpoints: %w", &fs.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC})
		}
		return save(dir, s)
	}
}

// A disk without room is waited for, and a person is told what to do; when there is room the run
// goes on as if nothing had been.
func TestFullDiskIsWaitedFor(t *testing.T) {
	o := options(t)
	var told []string
	o.Waits = func(message string) { told = append(told, message) }
	failures := 0
	fullDisk(t, o.RunsDir, func() bool { failures++; return failures <= 2 })
	result := train(t, o)
	if result.Status != Done || result.LedgerEntries != 12 || len(told) != 2 {
		t.Fatalf("found %+v after %q, expected a run that is done after two waits", result, told)
	}
	for _, part := range []string{"the checkpoint cannot be saved: ", "no space left on device", "it needs 2 KiB", "the disk of " + result.Run + " has ", "make room there", "trying again in 1ms, attempt 1 of 3, ctrl-C ends the waiting"} {
		if !strings.Contains(told[0], part) {
			t.Errorf("found %q, expected %q in it", told[0], part)
		}
	}
}

// A disk that stays full ends the run with an error; what was trained is elsewhere, readable by its
// owner alone, and moved back the run goes on from there without a release more.
func TestFullDiskLosesNothing(t *testing.T) {
	for name, every := range map[string]string{"in between": "5", "at the end": "0"} {
		t.Run(name, func(t *testing.T) {
			o, elsewhere := options(t), t.TempDir()
			t.Setenv("TMPDIR", elsewhere)
			full := true
			fullDisk(t, o.RunsDir, func() bool { return full })
			r := create(t, tiny.Parse(t, "run.checkpoint_every="+every), o)
			_, err := r.Fit(context.Background())
			if !errors.Is(err, ErrNotSaved) || !strings.Contains(err.Error(), "go on with `train resume "+r.Dir+"`") {
				t.Fatalf("found %v, expected how to go on", err)
			}
			kept, _ := filepath.Glob(filepath.Join(elsewhere, "dpsgd-*", folder.Checkpoints, "*.ckpt"))
			if len(kept) != 1 || !strings.Contains(err.Error(), "it is kept in "+kept[0]) {
				t.Fatalf("found %q and %v, expected the checkpoint and its path", kept, err)
			}
			if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("found %v, %v, expected permissions 0600", info, err)
			}
			if info, err := os.Stat(filepath.Dir(filepath.Dir(kept[0]))); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("found %v, %v, expected permissions 0700", info, err)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Dir, folder.Checkpoints, ".*")); len(left) > 0 {
				t.Errorf("found %q beside the checkpoints", left)
			}
			r.Close()
			full = false
			if err := os.Rename(kept[0], filepath.Join(r.Dir, folder.Checkpoints, filepath.Base(kept[0]))); err != nil {
				t.Fatal(err)
			}
			result := fit(t, open(t, r.Dir, o))
			if result.Status != Done || result.LedgerEntries != 12 {
				t.Errorf("found %+v, expected a run that is done with 12 releases", result)
			}
		})
	}
}

// Whoever stops a run that waits for a disk does not wait any longer.
func TestStopEndsWaiting(t *testing.T) {
	o := options(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	o.Waits = func(string) { cancel() }
	fullDisk(t, o.RunsDir, func() bool { return true })
	pauses = []time.Duration{time.Hour, time.Hour}
	if _, err := create(t, tiny.Parse(t), o).Fit(ctx); !errors.Is(err, ErrNotSaved) {
		t.Errorf("found %v, expected that nothing was saved", err)
	}
}

// A run whose budget is spent and of which no step was saved is an error, and no model that was never
// trained is written.
func TestNothingSavedIsAnError(t *testing.T) {
	o := options(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("HOME", filepath.Join(t.TempDir(), "missing"))
	full := true
	fullDisk(t, o.RunsDir, func() bool { return full })
	r := create(t, tiny.Parse(t, "privacy.noise_multiplier=calibrated", "privacy.epsilon=3", "run.checkpoint_every=0"), o)
	if _, err := r.Fit(context.Background()); !errors.Is(err, ErrNotSaved) || !strings.Contains(err.Error(), "the ledger counts 12 steps that no checkpoint holds") {
		t.Fatalf("found %v, expected what was lost", err)
	}
	r.Close()
	full = false
	_, err := open(t, r.Dir, o).Fit(context.Background())
	if !errors.Is(err, ErrUntrained) || !strings.Contains(err.Error(), "holds 12 releases") {
		t.Errorf("found %v, expected that there is nothing to go on with", err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, folder.Model)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a model was written: %v", err)
	}
}
