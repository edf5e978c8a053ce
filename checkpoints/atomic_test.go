package checkpoints

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
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
}

func TestWriteFileAtomicIntoMissingDirectory(t *testing.T) {
	wantError(t, WriteFileAtomic(filepath.Join(t.TempDir(), "missing", "file"), nil, 0), os.ErrNotExist, "missing")
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
