package checkpoints

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"dpsgd/internal/disk"
)

// The parts of the operating system that this package writes through: see package disk.
type (
	fileSystem = disk.FileSystem
	file       = disk.File
)

// Permissions of everything this package creates: a run directory holds the spend of a budget and,
// before the final statement is made, parameters that nobody has decided to publish.
const (
	filePerm fs.FileMode = 0o600
	dirPerm  fs.FileMode = 0o700
)

// makeDir creates a directory and those above it as far as they are missing, and syncs each parent,
// so that a file synced inside it cannot be lost together with the directory's name. The directory
// itself must not be a symbolic link; one above it is the user's own arrangement (/tmp is one on
// Darwin) and is followed.
func makeDir(files fileSystem, dir string) error {
	switch found, err := findDir(files, dir); {
	case err != nil:
		return err
	case found:
		return syncFound(files, dir)
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		makeParent := makeDir
		if _, err := files.Lstat(parent); err == nil {
			makeParent = syncFound
		}
		if err := makeParent(files, parent); err != nil {
			return err
		}
	}
	// Another run may have made it in the meantime: a sweep starts several.
	if err := files.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return syncName(files, dir)
}

// findDir reports whether a directory is there, and refuses anything else in its place.
func findDir(files fileSystem, dir string) (found bool, err error) {
	info, err := files.Lstat(dir)
	if err == nil && !info.IsDir() {
		return false, fmt.Errorf("checkpoints: %s: found %s, expected a folder: %w", dir, disk.Kind(info.Mode()), ErrNotRegular)
	}
	return err == nil, nil
}

// MakeDir creates a directory that is to hold runs or ledgers, and those above it as far as they
// are missing, with permissions 0700 and durable names. It follows symbolic links to directories.
func MakeDir(dir string) error {
	dir = filepath.Clean(dir)
	if info, err := disk.Stat(dir); err == nil && info.IsDir() {
		return syncFound(disk.System, dir)
	}
	return makeDir(disk.System, dir)
}

// syncFound makes the name of a directory durable that somebody else made: whoever it was may have
// been stopped, or be about to sync it. A parent that this user cannot read is not this user's own.
func syncFound(files fileSystem, dir string) error {
	if err := syncName(files, dir); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// NewDir creates one directory, with permissions 0700 and a durable name. The error matches
// fs.ErrExist if something has that name already.
func NewDir(dir string) error { return newDir(disk.System, filepath.Clean(dir)) }

func newDir(files fileSystem, dir string) error {
	if err := files.Mkdir(dir, dirPerm); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return syncName(files, dir)
}

// syncName makes the name of a directory durable.
func syncName(files fileSystem, dir string) error {
	parent := filepath.Dir(dir)
	if err := files.SyncDir(parent); err != nil {
		return fmt.Errorf("checkpoints: sync directory %s: %w", parent, err)
	}
	return nil
}

// refuseIrregular returns an error if the path exists and is anything but a regular file: a
// symbolic link in a run directory would let whoever made it choose the file that is overwritten.
func refuseIrregular(files fileSystem, path string) error {
	info, err := files.Lstat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil // missing is fine, and any other error comes back from the call that follows
	}
	return fmt.Errorf("checkpoints: %s: found %s, expected a regular file: %w", path, disk.Kind(info.Mode()), ErrNotRegular)
}

// RefuseIrregular refuses a path with ErrNotRegular as [WriteFileAtomic] does, and writes nothing.
func RefuseIrregular(path string) error { return refuseIrregular(disk.System, path) }

// openRegular opens a file for reading and returns its size. A directory or device is refused; a
// symbolic link is followed, because reading through one destroys nothing.
func openRegular(files fileSystem, path string) (file, int64, error) {
	info, err := files.Stat(path) // before opening: opening a named pipe would wait for a writer
	if err != nil {
		return nil, 0, fmt.Errorf("checkpoints: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("checkpoints: %s: found %s, expected a regular file: %w", path, disk.Kind(info.Mode()), ErrNotRegular)
	}
	f, err := files.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("checkpoints: %w", err)
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("checkpoints: %w", err)
	}
	return f, info.Size(), nil
}

// content returns a reader of the whole file, from its beginning.
func content(f io.ReaderAt) io.Reader { return io.NewSectionReader(f, 0, math.MaxInt64) }

// SHA256 returns the hash of a file, in hexadecimal.
func SHA256(path string) (string, error) {
	f, _, err := openRegular(disk.System, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, content(f)); err != nil {
		return "", fmt.Errorf("checkpoints: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// publicRandom returns n random bytes in hexadecimal, for names and identifiers that everybody may
// see. It has nothing to do with the sources that sample batches and draw noise.
func publicRandom(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails (crypto/rand, Go 1.24 and later)
	return hex.EncodeToString(b)
}
