package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"dpsgd/checkpoints"
)

// Refused reports whether the system refused, as it does where a disk is full: waiting may help. It
// brings back no folder that was deleted.
func Refused(err error) bool {
	return errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist)
}

// Elsewhere writes into a new folder of the user's alone, on what may be another disk. Name is a
// part of its name.
func Elsewhere(name string, write func(dir string) error) (dir string, ok bool) {
	parents := []string{os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		parents = append(parents, home)
	}
	for _, parent := range parents {
		dir, err := os.MkdirTemp(parent, "dpsgd-"+name+"-") // permissions 0700
		if err != nil {
			continue
		}
		if write(dir) == nil {
			return dir, true
		}
		os.RemoveAll(dir)
	}
	return "", false
}

// Size writes a number of bytes for people.
func Size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// FreeOn is how much room the disk of a folder has, for people.
func FreeOn(dir string) string {
	if free, ok := checkpoints.Free(dir); ok {
		return Size(free)
	}
	return "an unknown number of bytes"
}
