package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpsgd/internal/disk"
	"dpsgd/internal/disk/disktest"
)

func TestWriteFileAtomicReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"first", "", "a third, longer one"} {
		must(0, WriteFileAtomic(path, []byte(content), 0))
		if got := string(must(os.ReadFile(path))); got != content {
			t.Errorf("read %q, want %q", got, content)
		}
	}
	wantNames(t, dir, "file")
	wantError(t, WriteFileAtomic(filepath.Join(t.TempDir(), "missing", "file"), nil, 0), os.ErrNotExist, "missing/file: folder ")
}

// Whatever single call fails, the path holds the old content or all of the new one, a success means
// the new one, and a failure before the process dies leaves no temporary file.
func TestWriteFileAtomicIsWholeOrAbsent(t *testing.T) {
	for kind := range faultCount {
		for failAt := 0; ; failAt++ {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			must(0, os.WriteFile(path, []byte("old"), 0o600))
			files := &faultyDisk{fault: kind, failAt: failAt}
			err, panicked := recovering(func() error {
				return writeAtomic(files, path, 0, all([]byte("new content")))
			})
			got := string(must(os.ReadFile(path)))
			if got != "old" && got != "new content" || err == nil && got != "new content" {
				t.Errorf("%s at call %d: error %v, file reads %q", faultNames[kind], failAt, err, got)
			}
			if !panicked {
				wantNames(t, dir, "file")
			}
			if files.calls <= failAt {
				break // every call has had its turn
			}
			files.kill()
		}
	}
}

// recovering turns a panic with errInjected into an error.
func recovering(f func() error) (err error, panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			injected, ok := r.(error)
			if !ok || !errors.Is(injected, errInjected) {
				panic(r)
			}
			err, panicked = injected, true
		}
	}()
	return f(), false
}

// One process at a time has a lock, also while others take it and remove its file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l := must(TakeLock(path))
	if _, err := TakeLock(path); !errors.Is(err, ErrLocked) || !errors.Is(TryLock(path), ErrLocked) {
		t.Errorf("found error %v, expected ErrLocked", err)
	}
	defer func(usual time.Duration) { instant = usual }(instant)
	instant = time.Minute // on a slow machine
	time.AfterFunc(20*time.Millisecond, func() { must(0, l.Close()) })
	must(0, must(TakeLock(path)).Close()) // waits
	must(0, TryLock(path))
	var holders atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for taken := 0; taken < 50; {
				l, err := TakeLock(path)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken++
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d have the lock, expected one", n)
				}
				holders.Add(-1)
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()

	removed := false
	disk.System = &faultyDisk{failAt: -1, seen: func(call, _ string) {
		if call == "lock" && !removed { // whoever had it removes its file first
			removed = os.Remove(path) == nil
		}
	}}
	defer func() { disk.System = disk.Real{} }()
	raced := must(TakeLock(path))
	defer raced.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("found %v, expected that the lock is of the file with that name", err)
	}
}

// If several make one file, one succeeds, and the file has its content. A power loss takes neither
// its content nor its name.
func TestCreateFileAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	var all sync.WaitGroup
	var made atomic.Int32
	var winner atomic.Value
	for i := range 16 {
		all.Go(func() {
			content := string(rune('a' + i))
			switch err := CreateFileAtomic(path, []byte(content), 0); {
			case err == nil:
				made.Add(1)
				winner.Store(content)
			case !errors.Is(err, os.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	content, err := os.ReadFile(path)
	if err != nil || made.Load() != 1 || string(content) != winner.Load() {
		t.Errorf("found %q (%v) after %d were made, expected %q of one", content, err, made.Load(), winner.Load())
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("found %v, expected the file alone", entries)
	}
	here := filepath.FromSlash("/here")
	d := disktest.New(here)
	disk.System = d
	defer func() { disk.System = disk.Real{} }()
	if must(0, CreateFileAtomic(filepath.Join(here, "a"), []byte("a"), 0)); string(d.Durable(filepath.Join(here, "a"))) != "a" {
		t.Error("a power loss takes the file")
	}
}
