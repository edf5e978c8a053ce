package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsgd/internal/folder"
	"dpsgd/internal/run"
	"dpsgd/internal/tiny"

	"golang.org/x/sys/unix"
)

// A real disk without room, at any of its last pages: the run ends with an error that says how to
// go on, or not at all; nothing half-written stays, and with room again the run goes on.
func TestRealFullDisk(t *testing.T) {
	waits := run.Pauses
	run.Pauses = slices.Repeat([]time.Duration{time.Millisecond}, 2)
	defer func() { run.Pauses = waits }()
	t.Setenv("TMPDIR", t.TempDir()) // what finds no room is kept there
	for i := range 6 {
		pages, every := 1+i/2, []string{"1", "5"}[i%2]
		disk := t.TempDir()
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
			t.Skipf("a small disk cannot be mounted: %v", err)
		}
		defer unix.Unmount(disk, unix.MNT_DETACH)
		o := options(t)
		o.RunsDir = filepath.Join(disk, "runs")
		filler := filepath.Join(disk, "filler")
		o.Stepped = func(p Progress) {
			if p.Step == 2 {
				fill(t, filler, pages*os.Getpagesize())
			}
		}
		r := create(t, tiny.Parse(t, "run.checkpoint_every="+every), o)
		_, err := r.Fit(context.Background())
		if err == nil || !strings.Contains(err.Error(), "train resume "+r.Dir) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%d pages: found %v, expected how to go on", pages, err)
		}
		r.Close()
		if left, _ := filepath.Glob(filepath.Join(r.Dir, "*", ".*")); len(left) > 0 {
			t.Errorf("%d pages: found %q", pages, left)
		}
		if lines, err := os.ReadFile(filepath.Join(r.Dir, folder.Metrics)); err == nil && len(lines) > 0 && lines[len(lines)-1] != '\n' {
			t.Errorf("%d pages: the metrics end in %q", pages, lines)
		}
		os.Remove(filler)
		if result := fit(t, open(t, r.Dir, o)); result.Steps < 6 || result.LedgerEntries != 12 {
			t.Errorf("%d pages: found %+v, expected all releases and at most the steps since a checkpoint lost", pages, result)
		}
	}
}

// fill leaves so many bytes of a disk.
func fill(t *testing.T, path string, leave int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	page, written := make([]byte, os.Getpagesize()), 0
	for {
		n, err := f.Write(page)
		if err != nil || n < len(page) {
			break
		}
		written += n
	}
	if err := f.Truncate(int64(max(0, written-leave))); err != nil {
		t.Error(err)
	}
}
