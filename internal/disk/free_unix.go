//go:build linux || darwin

package disk

import "golang.org/x/sys/unix"

// Free returns the bytes that the disk of a folder has for this user; ok is false where the system
// does not say.
func Free(dir string) (bytes int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
