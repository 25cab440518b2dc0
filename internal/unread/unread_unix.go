//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package unread

import "golang.org/x/sys/unix"

// Bytes is how many bytes can be read from a file at once, 0 where the system does not tell.
func Bytes(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), bytesWaiting)
	if err != nil {
		return 0
	}
	return n
}
