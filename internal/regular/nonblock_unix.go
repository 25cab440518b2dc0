//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package regular

import "golang.org/x/sys/unix"

// OpenNonblock is for os.OpenFile: it keeps the opening of a named pipe from waiting for its other end.
const OpenNonblock = unix.O_NONBLOCK
