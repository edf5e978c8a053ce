//go:build !linux

package mpi

// launcherCores returns 0, for unknown: processes are not bound to cores here.
func launcherCores() int { return 0 }
