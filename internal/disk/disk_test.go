package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
