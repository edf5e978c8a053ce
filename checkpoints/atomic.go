package checkpoints

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"dpsgd/internal/disk"
)

// WriteFileAtomic writes a file that is whole or absent: after a crash or a power loss at any
// moment the path holds either what it held before or all of data. It writes a temporary file in
// the same directory, syncs it, renames it over the path and syncs the directory (where the
// operating system can; safetensors' own writer, for comparison, renames without a sync). An error
// leaves the old content, with one exception: when only the last sync fails, the new content is
// there and a power loss may still undo it.
//
// The file is created exclusively with perm, or 0600 if perm is 0. A path that is a symbolic link,
// a directory or a device is refused with ErrNotRegular.
func WriteFileAtomic(path string, data []byte, perm fs.FileMode) error {
	return writeAtomic(disk.System, path, perm, all(data))
}

// all returns a function that writes data to its writer.
func all(data []byte) func(*bufio.Writer) error {
	return func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// CreateFileAtomic is WriteFileAtomic for a file that must not be there: of several processes, also
// on several machines with one file system, one makes it, and the error of all others matches
// fs.ErrExist. It links the temporary file to its name, which is the one way to make a whole file
// exclusively that network file systems keep. File systems without links are refused.
func CreateFileAtomic(path string, data []byte, perm fs.FileMode) error {
	temporary := temporaryName(path)
	if err := writeSynced(disk.System, temporary, perm, all(data)); err != nil {
		return fmt.Errorf("checkpoints: create %s: %w", path, err)
	}
	defer disk.Remove(temporary)
	if err := disk.System.Link(temporary, path); err != nil && !isLinked(temporary, path) {
		return fmt.Errorf("checkpoints: create %s: %w", path, err)
	}
	if err := disk.System.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("checkpoints: sync directory of %s: %w", path, err)
	}
	return nil
}

// isLinked reports whether both paths name one file: if the answer of a network file system is
// lost, its client asks again and is refused, although the first call made the link.
func isLinked(temporary, path string) bool {
	a, err := disk.Lstat(temporary)
	b, other := disk.Lstat(path)
	return err == nil && other == nil && disk.SameFile(a, b)
}

// writeAtomic is WriteFileAtomic for content that write produces piece by piece.
func writeAtomic(files fileSystem, path string, perm fs.FileMode, write func(*bufio.Writer) error) error {
	if err := refuseIrregular(files, path); err != nil {
		return err
	}
	temporary := temporaryName(path)
	if err := writeSynced(files, temporary, perm, write); err != nil {
		return fmt.Errorf("checkpoints: write %s: %w", path, err)
	}
	if err := files.Rename(temporary, path); err != nil {
		files.Remove(temporary)
		return fmt.Errorf("checkpoints: write %s: %w", path, err)
	}
	if err := files.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("checkpoints: sync directory of %s: %w", path, err)
	}
	return nil
}

// writeSynced creates a file with what write writes, and returns when that is on stable storage. If
// it cannot, it removes the file again.
func writeSynced(files fileSystem, name string, perm fs.FileMode, write func(*bufio.Writer) error) error {
	f, err := files.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, cmp.Or(perm, filePerm))
	if err != nil { // it names the temporary file
		return fmt.Errorf("folder %s: %w", filepath.Dir(name), cmp.Or(errors.Unwrap(err), err))
	}
	done := false
	defer func() { // also when write panics
		if !done {
			f.Close()
			files.Remove(name)
		}
	}()
	buffered := bufio.NewWriterSize(io.NewOffsetWriter(f, 0), 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	done = true
	return nil
}

// temporaryMark tells a temporary file, which a killed process may leave behind, from a file with a
// meaning.
const temporaryMark = ".tmp-"

func temporaryName(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + temporaryMark + publicRandom(8)
}
