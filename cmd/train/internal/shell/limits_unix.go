//go:build unix

package shell

import "syscall"

// leastFiles is how many files a command has open at once, with room to spare.
const leastFiles = 32

// limits refuses to start where the Go runtime would end the process in the middle of its work,
// because the system lets it open too few files.
func limits() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Cur < leastFiles {
		return Usagef("found a limit of %d open files (ulimit -n), expected at least %d", files.Cur, leastFiles)
	}
	return nil
}
