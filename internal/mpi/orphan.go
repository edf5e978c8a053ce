//go:build mpi

package mpi

import (
	"fmt"
	"os"
	"time"
)

// endWithLauncher ends this process when the one that started it is gone: a launcher that is killed
// cannot end its ranks. What was released is in the ledger, and the last checkpoint stays.
func endWithLauncher(rank int) {
	launcher := os.Getppid()
	for os.Getppid() == launcher {
		time.Sleep(500 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "train: rank %d: the process that started it (%d) has ended, and so does this one\n", rank, launcher)
	os.Exit(1)
}
