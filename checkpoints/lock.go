package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
)

// A Lock is an exclusive lock of a file between processes. It ends with the process, however that
// ends.
type Lock struct {
	path string
	f    file
}

// TakeLock locks a file, which it makes where there is none. If another process has it, the error is
// one line that matches ErrLocked and names the path.
func TakeLock(path string) (*Lock, error) {
	for {
		if err := refuseIrregular(disk{}, path); err != nil {
			return nil, err
		}
		f, err := disk{}.OpenFile(path, os.O_RDWR|os.O_CREATE, filePerm)
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		// Whoever had the lock may have removed the file after this process opened it; then another
		// file has that name by now, and its lock is the one that counts.
		l := &Lock{path, f}
		err = f.Lock()
		if err == nil && named(disk{}, path, f, 0, math.MaxInt64) == nil {
			return l, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %s: %w", path, err)
		}
	}
}

// Close gives the lock back and keeps the file.
func (l *Lock) Close() error { return l.f.Close() }

// Remove gives the lock back and deletes its file, where the system allows that for an open file.
func (l *Lock) Remove() error {
	err := os.Remove(l.path)
	if closed := l.Close(); err == nil || errors.Is(err, fs.ErrNotExist) {
		return closed
	}
	return nil
}
