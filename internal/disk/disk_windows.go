package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks one byte far behind the end of the file: Windows locks are mandatory, and a lock
// on the content would keep readers out of a running run's ledger. That of gofrs/flock v0.13.1 is
// on the first byte.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockPosition())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockPosition())
}

func lockPosition() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 0x40000000} }

// syncDir does nothing: Windows has no sync of a directory, and NTFS journals renames.
func syncDir(string) error { return nil }
