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

// Whatever a folder holds is removed or listed, a link in it by itself; what is missing is no error,
// and what cannot be removed is one. A locked file is not locked again.
func TestFiles(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "a"), t.TempDir()
	kept := filepath.Join(other, "kept")
	must(0, errors.Join(os.MkdirAll(filepath.Join(dir, "b", "c"), 0o700), os.Mkdir(filepath.Join(dir, "g"), 0o700), os.WriteFile(kept, make([]byte, 1<<17), 0o600),
		os.WriteFile(filepath.Join(dir, "b", "c", "d"), nil, 0o600), os.WriteFile(filepath.Join(dir, "b", "e"), nil, 0o600)))
	want := []string{filepath.Join(dir, "b", "c", "d"), filepath.Join(dir, "b", "e"), filepath.Join(dir, "f")}
	if os.Symlink(other, want[2]) != nil {
		want = want[:2] // a system without links
	}
	if found := must(Files(dir)); !slices.Equal(found, want) {
		t.Errorf("found %v, expected %v", found, want)
	}
	System = stubborn{closed: filepath.Join(dir, "b", "c")}
	_, unlisted := Files(dir)
	_, unread := ReadFile(dir)
	if !errors.Is(unlisted, fs.ErrPermission) || unread == nil {
		t.Errorf("found the errors %v and %v, expected that a folder cannot be listed, and is no file", unlisted, unread)
	}
	System = stubborn{stays: want}
	if err := RemoveAll(dir); !errors.Is(err, fs.ErrPermission) || !slices.Equal(must(Files(dir)), want) {
		t.Errorf("found error %v, expected that no file can be removed", err)
	}
	System = Real{}
	must(0, errors.Join(RemoveAll(dir), RemoveAll(dir)))
	if _, err := Lstat(dir); !errors.Is(err, fs.ErrNotExist) || must(Files(dir)) != nil || len(must(ReadFile(kept))) != 1<<17 {
		t.Errorf("found error %v, expected nothing there, and all behind the link", err)
	}
	a, b := must(System.OpenFile(kept, os.O_RDWR, 0)), must(System.OpenFile(kept, os.O_RDWR, 0))
	must(0, a.Lock())
	first := b.Lock()
	must(0, a.Unlock())
	if second := b.Lock(); first != ErrLocked || second != nil {
		t.Errorf("found %v and then %v, expected ErrLocked and then nothing", first, second)
	}
	must(0, errors.Join(a.Close(), b.Close()))
	if err := a.Lock(); err == nil || err == ErrLocked {
		t.Errorf("a closed file: found %v", err)
	}
}

// stubborn does not remove or list what is there.
type stubborn struct {
	Real
	stays  []string
	closed string
}

func (s stubborn) Remove(name string) error {
	if slices.Contains(s.stays, name) {
		return fs.ErrPermission
	}
	return s.Real.Remove(name)
}

func (s stubborn) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == s.closed {
		return nil, fs.ErrPermission
	}
	return s.Real.ReadDir(name)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
