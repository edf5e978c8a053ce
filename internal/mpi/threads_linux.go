package mpi

import (
	"os"

	"golang.org/x/sys/unix"
)

// launcherCores returns how many cores the parent of this process may run on, 0 if that is unknown:
// launchers bind their ranks, not themselves. A container limits both.
func launcherCores() int {
	var cores unix.CPUSet
	if unix.SchedGetaffinity(os.Getppid(), &cores) != nil {
		return 0
	}
	return cores.Count()
}
