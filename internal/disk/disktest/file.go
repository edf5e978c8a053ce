package disktest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"dpsgd/internal/disk"
)

// A file is a file that a program has open.
type file struct {
	disk   *Disk
	inode  *inode
	path   string // that it was opened by
	closed bool
}

var _ disk.File = (*file)(nil)

func (f *file) operate(op *Operation, do func() error) error {
	op.Path = f.path
	return f.disk.operate(op, func(string) error {
		if f.closed {
			return fs.ErrClosed
		}
		return do()
	})
}

func (f *file) ReadAt(b []byte, offset int64) (n int, err error) {
	err = f.operate(&Operation{Name: "read"}, func() error {
		if f.inode.folder {
			return syscall.EISDIR
		}
		if offset < int64(len(f.inode.live)) {
			n = copy(b, f.inode.live[offset:])
		}
		return nil
	})
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (f *file) WriteAt(b []byte, offset int64) (n int, err error) {
	write := func(b []byte) error {
		f.disk.change(Change{inode: f.inode, data: bytes.Clone(b), offset: offset})
		n = len(b)
		return nil
	}
	op := &Operation{Name: "write", Changes: true, Bytes: len(b)}
	err = f.operate(op, func() error { return write(b) })
	if err != nil && op.Written > 0 {
		_ = write(b[:op.Written])
	}
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.operate(&Operation{Name: "truncate", Changes: true}, func() error {
		f.disk.change(Change{inode: f.inode, offset: size, cut: true})
		return nil
	})
}

// Sync makes the content durable. After one that failed the system takes it for durable, which it
// is not, as Linux does.
func (f *file) Sync() error {
	mine := func(c Change) bool { return c.inode == f.inode }
	err := f.operate(&Operation{Name: "sync"}, func() error {
		if !f.disk.BlindSync {
			f.disk.sync(mine)
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrKilled) {
		f.disk.pending = slices.DeleteFunc(f.disk.pending, mine)
	}
	return err
}

func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.operate(&Operation{Name: "stat"}, func() error {
		info = status{f.path, f.inode}
		return nil
	})
	return info, err
}

// Lock takes the lock, which the same open file cannot take twice, as on Windows.
func (f *file) Lock() error {
	return f.operate(&Operation{Name: "lock"}, func() error {
		if f.inode.lock != nil && !f.disk.BlindLock {
			return disk.ErrLocked
		}
		f.inode.lock = f
		return nil
	})
}

func (f *file) Unlock() error {
	return f.operate(&Operation{Name: "unlock"}, func() error {
		f.release()
		return nil
	})
}

// Close closes the file and ends its lock, also where it returns an error.
func (f *file) Close() error {
	err := f.operate(&Operation{Name: "close"}, func() error { return nil })
	f.release()
	f.closed = true
	return err
}

func (f *file) release() {
	if f.inode.lock == f {
		f.inode.lock = nil
	}
}

// A status is what the disk says of an inode.
type status struct {
	name  string
	inode *inode
}

func (s status) Name() string { return s.name }
func (s status) Mode() fs.FileMode {
	if s.inode.folder {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
func (s status) IsDir() bool        { return s.inode.folder }
func (s status) ModTime() time.Time { return time.Time{} }
func (s status) Sys() any           { return nil }
func (s status) Size() int64        { return int64(len(s.inode.live)) }
