package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

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
	must(0, os.Mkdir(filepath.Dir(path), 0o700))
	f := must(Real{}.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))
	must(0, f.Sync())
	must(0, f.Close())
	if err := f.Sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("sync of a closed file: found error %v, expected fs.ErrClosed", err)
	}
	must(0, Real{}.SyncDir(filepath.Dir(path)))
	if want := "[file file folder]"; runtime.GOOS != "windows" && fmt.Sprint(synced) != want {
		t.Errorf("found syncs of %v, expected %v", synced, want)
	}
	if runtime.GOOS == "windows" {
		return // has no sync of a directory
	}
	if err := (Real{}).SyncDir(filepath.Join(filepath.Dir(path), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a missing directory: found error %v, expected fs.ErrNotExist", err)
	}
	for said, want := range map[error]error{syscall.EINVAL: nil, syscall.ENOTSUP: nil, syscall.EIO: syscall.EIO} {
		fsync = func(*os.File) error { return said }
		if err := (Real{}).SyncDir(filepath.Dir(path)); err != want {
			t.Errorf("sync of a directory to which the system says %v: found error %v, expected %v", said, err, want)
		}
	}
}

// All that lies below a folder is listed, or it is told that it cannot be: ledgers that nobody lists
// count as none.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b")
	must(0, errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.Mkdir(filepath.Join(dir, "c"), 0o700), os.WriteFile(file, make([]byte, 1<<17), 0o600)))
	if found := must(Files(dir)); !slices.Equal(found, []string{file}) || len(must(ReadFile(file))) != 1<<17 {
		t.Errorf("found %v, expected one file, and all of it", found)
	}
	System = closed{at: filepath.Dir(file)}
	defer func() { System = Real{} }()
	if found, err := Files(dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("found %v (%v), expected an error", found, err)
	}
}

// closed does not list one folder.
type closed struct {
	Real
	at string
}

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == c.at {
		return nil, fs.ErrPermission
	}
	return c.Real.ReadDir(name)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
