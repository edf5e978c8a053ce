//go:build !unix && !mpi

package ranks

import (
	"os"
	"runtime"

	"dpsgd/cmd/train/internal/shell"
)

// become has no way to replace a program in its process here.
func become(program string) error {
	return shell.Usagef("found %s started by an MPI launcher, expected %s: a program cannot become another on %s", os.Args[0], program, runtime.GOOS)
}
