package disktest

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"dpsgd/internal/disk"
)

// at returns the path on the disk of a path that a program has.
func (d *Disk) at(path string) (string, error) {
	if d.Root == nil {
		return filepath.Clean(path), nil
	}
	return d.Root(filepath.Clean(path))
}

// operate makes one call of a program: unless Before refuses it, it calls do with the path on the
// disk.
func (d *Disk) operate(op *Operation, do func(path string) error) error {
	at, err := d.at(op.Path)
	if err == nil && d.Before != nil {
		err = d.Before(op)
	}
	if err == nil {
		err = do(at)
	}
	if d.After != nil {
		d.After(op, err)
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op.Name, Path: op.Path, Err: err}
}

// OpenFile implements [disk.FileSystem], as the methods below do.
func (d *Disk) OpenFile(path string, flag int, _ fs.FileMode) (opened disk.File, err error) {
	_, missing := d.info(path)
	err = d.operate(&Operation{Name: "open", Path: path, Changes: flag&os.O_CREATE != 0 && missing != nil}, func(at string) error {
		i := d.live[at]
		switch {
		case i == nil && (flag&os.O_CREATE == 0 || !d.isFolder(filepath.Dir(at))):
			return fs.ErrNotExist
		case i != nil && flag&os.O_EXCL != 0:
			return fs.ErrExist
		case i == nil:
			i = &inode{}
			d.change(Change{folder: filepath.Dir(at), names: map[string]*inode{at: i}})
		}
		opened = &file{disk: d, inode: i, path: path}
		return nil
	})
	return opened, err
}

// info returns what the disk knows of a path that a program has.
func (d *Disk) info(path string) (info status, err error) {
	at, err := d.at(path)
	i := d.live[at]
	switch {
	case err != nil:
		return info, err
	case i == nil && isTop(at):
		return status{at, &inode{folder: true}}, nil
	case i == nil:
		return info, fs.ErrNotExist
	}
	return status{filepath.Base(at), i}, nil
}

func (d *Disk) Lstat(path string) (info fs.FileInfo, err error) {
	err = d.operate(&Operation{Name: "stat", Path: path}, func(string) (err error) {
		info, err = d.info(path)
		return err
	})
	return info, err
}

func (d *Disk) Stat(path string) (fs.FileInfo, error) { return d.Lstat(path) }
func (d *Disk) SameFile(a, b fs.FileInfo) bool        { return a.(status).inode == b.(status).inode }

func (d *Disk) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = d.operate(&Operation{Name: "list", Path: path}, func(at string) error {
		if !d.isFolder(at) {
			return cmp.Or(d.missing(at), error(syscall.ENOTDIR))
		}
		for _, below := range d.Names() {
			if filepath.Dir(below) == at {
				entries = append(entries, fs.FileInfoToDirEntry(status{filepath.Base(below), d.live[below]}))
			}
		}
		return nil
	})
	return entries, err
}

// missing returns fs.ErrNotExist if nothing has that path on the disk; else nil.
func (d *Disk) missing(at string) error {
	if d.live[at] == nil && !isTop(at) {
		return fs.ErrNotExist
	}
	return nil
}

func (d *Disk) Mkdir(path string, _ fs.FileMode) error {
	return d.operate(&Operation{Name: "mkdir", Path: path, Changes: true}, func(at string) error {
		switch {
		case d.missing(at) == nil:
			return fs.ErrExist
		case !d.isFolder(filepath.Dir(at)):
			return fs.ErrNotExist
		}
		d.change(Change{folder: filepath.Dir(at), names: map[string]*inode{at: {folder: true}}})
		return nil
	})
}

// move gives what has the old name the new one, too, and removes the old one where gone says so.
func (d *Disk) move(op, oldPath, newPath string, gone bool) error {
	to, err := d.at(newPath)
	if err != nil {
		return &fs.PathError{Op: op, Path: newPath, Err: err}
	}
	return d.operate(&Operation{Name: op, Path: oldPath, Changes: true}, func(from string) error {
		switch {
		case d.missing(from) != nil || !d.isFolder(filepath.Dir(to)):
			return fs.ErrNotExist
		case !gone && d.live[to] != nil:
			return fs.ErrExist
		}
		names := map[string]*inode{to: d.live[from]}
		if gone {
			names[from] = nil
		}
		d.change(Change{folder: filepath.Dir(to), names: names})
		return nil
	})
}

func (d *Disk) Rename(oldPath, newPath string) error { return d.move("rename", oldPath, newPath, true) }
func (d *Disk) Link(oldPath, newPath string) error   { return d.move("link", oldPath, newPath, false) }

func (d *Disk) Remove(path string) error {
	return d.operate(&Operation{Name: "remove", Path: path, Changes: true}, func(at string) error {
		if err := d.missing(at); err != nil {
			return err
		}
		for below := range d.live {
			if strings.HasPrefix(below, at+"/") {
				return syscall.ENOTEMPTY
			}
		}
		d.change(Change{folder: filepath.Dir(at), names: map[string]*inode{at: nil}})
		return nil
	})
}

func (d *Disk) SyncDir(path string) error {
	return d.operate(&Operation{Name: "sync folder", Path: path}, func(at string) error {
		if !d.BlindSyncDir {
			d.sync(func(c Change) bool { return c.inode == nil && c.folder == at })
		}
		return nil
	})
}

var _ disk.FileSystem = (*Disk)(nil)
