//go:build amd64 && !mcs_portable

package isa

import "golang.org/x/sys/unix"

// requestTiles asks the kernel for the right to use tiles. Without it the kernel does not save their 8 KiB
// when it switches threads.
func requestTiles() bool {
	const (
		archReqXcompPerm = 0x1023
		tileData         = 18
	)
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archReqXcompPerm, tileData, 0)
	return errno == 0
}
