//go:build unix && !mpi

package ranks

import (
	"fmt"
	"os"
	"syscall"
)

// become replaces this program by another in the same process, which the launcher watches.
func become(program string) error {
	err := syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
	return fmt.Errorf("train: %s: %w", program, err)
}
