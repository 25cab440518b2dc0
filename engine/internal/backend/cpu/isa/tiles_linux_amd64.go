//go:build amd64 && !mcs_portable

package isa

import "golang.org/x/sys/unix"

// requestTiles asks the kernel for the right to use tiles, whose 8 KiB it otherwise does not save with a
// thread.
func requestTiles() bool {
	const (
		archReqXcompPerm = 0x1023
		tileData         = 18
	)
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archReqXcompPerm, tileData, 0)
	return errno == 0
}
