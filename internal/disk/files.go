package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// ErrLocked: another process has the lock of the file.
var ErrLocked = errors.New("in use by another process")

func (Real) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (Real) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (Real) SameFile(a, b fs.FileInfo) bool             { return os.SameFile(a, b) }
func (Real) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Lstat is os.Lstat in [System], as the functions below are those of package os.
func Lstat(name string) (fs.FileInfo, error)     { return System.Lstat(name) }
func Stat(name string) (fs.FileInfo, error)      { return System.Stat(name) }
func SameFile(a, b fs.FileInfo) bool             { return System.SameFile(a, b) }
func ReadDir(name string) ([]fs.DirEntry, error) { return System.ReadDir(name) }
func Remove(name string) error                   { return System.Remove(name) }

// Open opens a regular file for reading, also one behind a link. Opening a named pipe would wait for
// a writer, and a device may have no end: they are refused before.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, expected a regular file", path, Kind(info.Mode()))
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Kind returns the kind of a file, for messages.
func Kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file (" + mode.Type().String() + ")"
}

// ReadFile returns what a file holds.
func ReadFile(name string) ([]byte, error) {
	f, err := System.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
}

// RemoveAll removes a file, or a directory with what it holds; nothing where there is none.
func RemoveAll(name string) error {
	err := System.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, unknown := System.Lstat(name)
	if unknown != nil || !info.IsDir() {
		return err
	}
	entries, err := System.ReadDir(name)
	for _, e := range entries {
		err = errors.Join(err, RemoveAll(filepath.Join(name, e.Name())))
	}
	if err != nil {
		return err
	}
	return System.Remove(name)
}

// Files returns the paths of all files below a directory, in the order of their names; none where
// it is missing, or goes missing meanwhile.
func Files(dir string) (found []string, err error) {
	entries, err := System.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		below := []string{filepath.Join(dir, e.Name())}
		if e.IsDir() && err == nil {
			below, err = Files(below[0])
		}
		found = append(found, below...)
	}
	return found, err
}
