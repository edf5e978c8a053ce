//go:build !linux

package kernel

// matrixPermission reports that the system was not asked to save the registers of AMX.
func matrixPermission() bool { return false }
