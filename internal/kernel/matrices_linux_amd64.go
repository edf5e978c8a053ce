package kernel

import "syscall"

// matrixPermission asks Linux to save the registers of AMX for this process, and reports whether it does.
func matrixPermission() bool {
	const requestPermission, tileData = 0x1023, 18 // ARCH_REQ_XCOMP_PERM of asm/prctl.h, and what is asked for
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
