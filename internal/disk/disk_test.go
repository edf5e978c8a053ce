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

// Whatever a folder holds is listed and removed, a link in it by itself; what cannot be is told. A
// locked file is not locked again.
func TestFiles(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "a"), t.TempDir()
	kept, want := filepath.Join(other, "kept"), []string{filepath.Join(dir, "b", "c"), filepath.Join(dir, "d")}
	must(0, errors.Join(os.MkdirAll(filepath.Join(dir, "b"), 0o700), os.Mkdir(filepath.Join(dir, "e"), 0o700), os.WriteFile(want[0], nil, 0o600), os.WriteFile(kept, make([]byte, 1<<17), 0o600)))
	if os.Symlink(other, want[1]) != nil {
		want = want[:1] // a system without links
	}
	System = stubborn{at: []string{filepath.Join(dir, "b")}}
	_, unlisted := Files(dir)
	System = stubborn{at: want}
	if err := RemoveAll(dir); !errors.Is(err, fs.ErrPermission) || !errors.Is(unlisted, fs.ErrPermission) || !slices.Equal(must(Files(dir)), want) {
		t.Errorf("found the errors %v and %v, expected that %v stay", err, unlisted, want)
	}
	System = Real{}
	must(0, errors.Join(RemoveAll(dir), RemoveAll(dir)))
	if _, err := Lstat(dir); !errors.Is(err, fs.ErrNotExist) || must(Files(dir)) != nil || len(must(ReadFile(kept))) != 1<<17 {
		t.Errorf("found error %v, expected nothing there, and all behind the link", err)
	}
	a, b := must(System.OpenFile(kept, os.O_RDWR, 0)), must(System.OpenFile(kept, os.O_RDWR, 0))
	if first, second, third := a.Lock(), b.Lock(), errors.Join(a.Unlock(), b.Lock(), a.Close(), b.Close()); first != nil || second != ErrLocked || third != nil {
		t.Errorf("found %v, %v and %v, expected one lock at a time", first, second, third)
	}
}

// stubborn does not remove what is at these paths, nor list the first.
type stubborn struct {
	Real
	at []string
}

func (s stubborn) Remove(name string) error {
	if slices.Contains(s.at, name) {
		return fs.ErrPermission
	}
	return s.Real.Remove(name)
}

func (s stubborn) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == s.at[0] {
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
