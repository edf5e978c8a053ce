package checkpoints

import (
	"io"
	"io/fs"
	"os"
)

// A fileSystem is the part of the operating system that this package writes through. It exists so
// that the tests can make each single call fail, tear a write, or lose everything that was not
// synced.
type fileSystem interface {
	OpenFile(name string, flag int, perm fs.FileMode) (file, error)
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	SameFile(a, b fs.FileInfo) bool
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(oldName, newName string) error
	Remove(name string) error
	// SyncDir makes names that were created, renamed or removed in a directory survive a power
	// loss.
	SyncDir(name string) error
}

// A file is an open file. Reads and writes name their offset: nothing depends on a file position
// that an earlier, failed call may have moved.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	// Sync returns when the content is on stable storage (on Darwin, os.File.Sync asks the drive to
	// flush too).
	Sync() error
	// Lock takes the exclusive lock of the file, which ends with Unlock, with Close or with the
	// process. It returns ErrLocked at once if somebody else holds it.
	Lock() error
	Unlock() error
}

// disk is the real file system.
type disk struct{}

type diskFile struct{ *os.File }

var _ fileSystem = disk{}

func (disk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, perm)
	return diskFile{f}, err
}

func (disk) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (disk) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (disk) SameFile(a, b fs.FileInfo) bool             { return os.SameFile(a, b) }
func (disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (disk) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (disk) Rename(oldName, newName string) error       { return os.Rename(oldName, newName) }
func (disk) Remove(name string) error                   { return os.Remove(name) }
func (disk) SyncDir(name string) error                  { return syncDir(name) }

// fsync makes a file or directory durable. It is a variable so that a test can see that it is
// called.
var fsync = (*os.File).Sync

func (f diskFile) Sync() error   { return fsync(f.File) }
func (f diskFile) Lock() error   { return lockFile(f.File) }
func (f diskFile) Unlock() error { return unlockFile(f.File) }
