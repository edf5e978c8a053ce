// Package disk is the file system below ledgers, checkpoints and the folders of runs.
package disk

import (
	"io"
	"io/fs"
	"os"
)

// System is what runs, ledgers and checkpoints are written through. Tests put others in its place.
var System FileSystem = Real{}

// A FileSystem is a part of the operating system. Its methods are those of package os.
type FileSystem interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	SameFile(a, b fs.FileInfo) bool
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Link(oldName, newName string) error
	Rename(oldName, newName string) error
	Remove(name string) error
	// SyncDir makes names that were created, renamed or removed in a directory durable.
	SyncDir(name string) error
}

// A File is an open file. It has no position that a failed call could have moved.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	// Sync returns when the content is on stable storage (on Darwin, os.File.Sync asks the drive to
	// flush too).
	Sync() error
	// Lock takes the lock of the file until Unlock, Close or the end of the process, or returns
	// ErrLocked at once.
	Lock() error
	Unlock() error
}

// Real is the file system of the operating system, and RealFile a file in it.
type Real struct{}
type RealFile struct{ *os.File }

func (Real) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	return RealFile{f}, err
}
func (Real) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }
func (Real) Link(oldName, newName string) error        { return os.Link(oldName, newName) }
func (Real) Rename(oldName, newName string) error      { return os.Rename(oldName, newName) }
func (Real) Remove(name string) error                  { return os.Remove(name) }
func (Real) SyncDir(name string) error                 { return syncDir(name) }

// fsync makes a file or directory durable. A test sees that it is called.
var fsync = (*os.File).Sync

func (f RealFile) Sync() error   { return fsync(f.File) }
func (f RealFile) Lock() error   { return lockFile(f.File) }
func (f RealFile) Unlock() error { return unlockFile(f.File) }
