package mpi

import (
	"os"

	"golang.org/x/sys/unix"
)

// launcherCores counts the cores that the parent of this process may run on: launchers bind their
// ranks, not themselves. A container limits both.
func launcherCores() int {
	var cores unix.CPUSet
	if unix.SchedGetaffinity(os.Getppid(), &cores) != nil {
		return 0
	}
	return cores.Count()
}
