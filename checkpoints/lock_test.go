package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// One process at a time has a lock, also while others take it and remove its file.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l := must(TakeLock(path))
	if _, err := TakeLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("found error %v, expected ErrLocked", err)
	}
	must(0, l.Close())
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
}

// If several make one file, one succeeds, and the file has its content.
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
}
