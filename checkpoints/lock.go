package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"dpsgd/internal/disk"
)

// openLedger opens a file, which must be a regular one, and neither locks nor reads it.
func openLedger(files fileSystem, path string, flag int) (*ledgerFile, error) {
	if err := refuseIrregular(files, path); err != nil {
		return nil, err
	}
	f, err := files.OpenFile(path, flag, filePerm)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return &ledgerFile{path: path, files: files, f: f}, nil
}

// Close closes the file, which ends its lock; later appends fail. Closing twice is allowed.
func (l *ledgerFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = cmp.Or(l.failed, fs.ErrClosed)
	if err := l.f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}

// instant is how long a run waits for a lock that another process may only be trying by [TryLock],
// or that has not come free yet after a kill. Tests change it.
var instant = 200 * time.Millisecond

// lock takes the lock of the file, for which it waits as long as patience says.
func (l *ledgerFile) lock(patience time.Duration) error {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(patience); ; {
		err := l.f.Lock()
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// TryLock takes the lock of a file that is there, and gives it back at once. Its error matches
// ErrLocked if another process has the lock.
func TryLock(path string) error {
	l, err := openLedger(disk.System, path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer l.f.Close()
	return l.f.Lock()
}

// A Lock is an exclusive lock of a file between processes. It ends with the process, however that
// ends.
type Lock struct{ *ledgerFile }

// TakeLock locks a file, which it makes where there is none. If another process has it, the error
// is one line that matches ErrLocked and names the path.
func TakeLock(path string) (*Lock, error) {
	for {
		l, err := openLedger(disk.System, path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		if err = l.lock(instant); err == nil {
			// Whoever had the lock may have removed the file after this process opened it; then
			// another file has that name by now, and its lock is the one that counts.
			if _, moved := l.present(0, math.MaxInt64); moved == nil {
				return &Lock{l}, nil
			}
		}
		l.f.Close()
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %s: %w", path, err)
		}
	}
}

// Remove gives the lock back and deletes its file, where the system allows that for an open file.
func (l *Lock) Remove() error {
	err := disk.Remove(l.path)
	if closed := l.Close(); err == nil || errors.Is(err, fs.ErrNotExist) {
		return closed
	}
	return nil
}
