//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the flock of an open file. The kernel drops it with the last descriptor, so a
// killed process leaves no stale lock; Go opens files close-on-exec, so a child does not inherit
// it. It locks the file that is written, not a path: libraries (gofrs/flock v0.13.1) open the path
// once more, which may be another file by then.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

func unlockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// syncDir syncs a directory. File systems that cannot say EINVAL or ENOTSUP; there is nothing more
// to do then.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	err = fsync(d)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
