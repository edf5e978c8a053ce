package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsgd/internal/disk"
)

// A fault is the behaviour of a faultyDisk at one call.
type fault int

const (
	faultEIO    fault = iota // the call fails without effect
	faultENOSPC              // a write stops halfway, with an error; other calls fail without effect
	faultShort               // a write stops halfway and reports it without an error, against its contract
	faultPanic               // the call panics; a write has stopped halfway
	faultCount
)

var (
	errInjected = errors.New("injected fault")
	faultNames  = [...]string{"EIO", "ENOSPC", "short write", "panic"}
)

// A faultyDisk is the real file system, except that call number failAt (counted from 0 over all
// methods of file system and files) goes wrong, and with sticky every later call too. It does not
// really sync: what a sync is for shows in the tests of power losses only, and these tests make
// thousands.
type faultyDisk struct {
	disk.Real
	mu     sync.Mutex // for calls of two files at once
	fault  fault
	failAt int // -1: never
	sticky bool
	calls  int
	open   []*os.File
	seen   func(call, path string) // is told of each call before it is made; nil in most tests
}

// strike counts a call and says whether it is to fail.
func (d *faultyDisk) strike(what, path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen != nil {
		d.seen(what, path)
	}
	call := d.calls
	d.calls++
	return d.failAt >= 0 && (call == d.failAt || d.sticky && call > d.failAt)
}

// fail carries out the fault at a call other than a write.
func (d *faultyDisk) fail() error {
	if d.fault == faultPanic {
		panic(errInjected)
	}
	return errInjected
}

// try makes a call, or fails.
func (d *faultyDisk) try(what, path string, call func() error) error {
	if d.strike(what, path) {
		return d.fail()
	}
	return call()
}

// tried is try for a call that returns something.
func tried[V any](d *faultyDisk, what, path string, call func() (V, error)) (v V, err error) {
	err = d.try(what, path, func() error { v, err = call(); return err })
	return v, err
}

// kill closes what a dead process would have closed.
func (d *faultyDisk) kill() {
	for _, f := range d.open {
		f.Close()
	}
}

func (d *faultyDisk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	return tried(d, fmt.Sprintf("open %#x %v", flag, perm), name, func() (file, error) {
		f, err := os.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		d.open = append(d.open, f)
		return faultyFile{disk.RealFile{File: f}, d}, nil
	})
}

func (d *faultyDisk) Lstat(name string) (fs.FileInfo, error) {
	return tried(d, "lstat", name, func() (fs.FileInfo, error) { return d.Real.Lstat(name) })
}

func (d *faultyDisk) Stat(name string) (fs.FileInfo, error) {
	return tried(d, "stat", name, func() (fs.FileInfo, error) { return d.Real.Stat(name) })
}

func (d *faultyDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	return tried(d, "list", name, func() ([]fs.DirEntry, error) { return d.Real.ReadDir(name) })
}

func (d *faultyDisk) Mkdir(name string, perm fs.FileMode) error {
	return d.try("make", name, func() error { return d.Real.Mkdir(name, perm) })
}

func (d *faultyDisk) Rename(oldName, newName string) error {
	return d.try("rename", oldName, func() error { return d.Real.Rename(oldName, newName) })
}

func (d *faultyDisk) Remove(name string) error {
	return d.try("remove", name, func() error { return d.Real.Remove(name) })
}

func (d *faultyDisk) SyncDir(name string) error {
	return d.try("sync", name, func() error { return nil })
}

type faultyFile struct {
	disk.RealFile
	d *faultyDisk
}

func (f faultyFile) WriteAt(b []byte, offset int64) (int, error) {
	if !f.d.strike("write", f.Name()) {
		return f.RealFile.WriteAt(b, offset)
	}
	if f.d.fault == faultEIO {
		return 0, errInjected
	}
	n, err := f.RealFile.WriteAt(b[:len(b)/2], offset)
	switch {
	case err != nil:
		return n, err
	case f.d.fault == faultShort:
		return n, nil
	}
	return n, f.d.fail()
}

func (f faultyFile) ReadAt(b []byte, offset int64) (int, error) {
	return tried(f.d, "read", f.Name(), func() (int, error) { return f.RealFile.ReadAt(b, offset) })
}

func (f faultyFile) Stat() (fs.FileInfo, error) {
	return tried(f.d, "stat", f.Name(), f.RealFile.Stat)
}
func (f faultyFile) Sync() error   { return f.d.try("sync", f.Name(), func() error { return nil }) }
func (f faultyFile) Lock() error   { return f.d.try("lock", f.Name(), f.RealFile.Lock) }
func (f faultyFile) Unlock() error { return f.d.try("unlock", f.Name(), f.RealFile.Unlock) }
func (f faultyFile) Truncate(size int64) error {
	return f.d.try("truncate", f.Name(), func() error { return f.RealFile.Truncate(size) })
}

func (f faultyFile) Close() error {
	err := f.RealFile.Close() // the descriptor is gone even when close reports an error
	if f.d.strike("close", f.Name()) {
		return f.d.fail()
	}
	return err
}

// wantError checks that err matches a sentinel and is one line that contains every part.
func wantError(t *testing.T, err, sentinel error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that matches %q", sentinel)
	}
	if sentinel != nil && !errors.Is(err, sentinel) {
		t.Errorf("error %q does not match %q", err, sentinel)
	}
	for _, part := range append(parts, "checkpoints: ") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, want %v", filepath.Base(dir), got, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// opened calls whatever opens a file by its path, for reading or for writing.
var opened = map[string]func(path string) error{
	"OpenJournal":     func(path string) error { _, err := OpenJournal(path); return err },
	"OpenDatasets":    func(path string) error { _, err := OpenDatasets(path); return err },
	"CreateDatasets":  func(path string) error { _, err := CreateDatasets(path); return err },
	"ReadJournal":     func(path string) error { _, _, err := ReadJournal(path); return err },
	"ReadDatasets":    func(path string) error { _, err := ReadDatasets(path); return err },
	"Load":            func(path string) error { _, err := Load(path); return err },
	"ReadModel":       func(path string) error { _, _, err := ReadModel(path); return err },
	"TakeLock":        func(path string) error { _, err := TakeLock(path); return err },
	"WriteModel":      func(path string) error { return WriteModel(path, sampleTensors, nil) },
	"WriteFileAtomic": func(path string) error { return WriteFileAtomic(path, []byte("x"), 0) },
}

// mkfifo makes a named pipe, where the system has them.
var mkfifo = func(string) error { return errors.ErrUnsupported }

// A directory, and a named pipe, whose reader would wait for a writer for ever, are refused by
// whatever opens files; what writes one refuses links too, and leaves alone what they lead to.
func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must(0, os.WriteFile(at("victim"), []byte("precious"), 0o600))
	must(0, os.Mkdir(at("folder"), 0o700))
	kinds := map[string]string{"folder": "found a folder, expected a regular file"}
	if mkfifo(at("pipe")) == nil {
		kinds["pipe"] = "a special file"
	}
	links := map[string]string{}
	for name, to := range map[string]string{"link": at("victim"), "dangling": at("nowhere")} {
		if os.Symlink(to, at(name)) == nil {
			links[name] = "found a symbolic link, expected a regular file"
		}
	}
	for name, open := range opened {
		reads := strings.HasPrefix(name, "Read") || name == "Load"
		refused := maps.Clone(kinds)
		if !reads {
			maps.Copy(refused, links)
		}
		for name, want := range refused {
			wantError(t, open(at(name)), ErrNotRegular, at(name), want)
		}
		if reads || name == "OpenJournal" || name == "OpenDatasets" {
			wantError(t, open(at("missing")), fs.ErrNotExist, "missing")
		}
	}
	if got := string(must(os.ReadFile(at("victim")))); got != "precious" {
		t.Errorf("the target of the link now reads %q", got)
	}
	if _, err := os.Lstat(at("nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was written through a link")
	}
}
