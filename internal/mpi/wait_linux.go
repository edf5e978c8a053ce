//go:build mpi

package mpi

import (
	"syscall"
	"time"
)

// yield lets another thread have the core.
func yield() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

// sleep blocks the thread for d; time.Sleep takes at least a millisecond if nothing else goes on.
func sleep(d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, which does no harm
}
