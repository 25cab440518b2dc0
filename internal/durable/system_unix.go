//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock locks a file until it is closed; errLocked if it is locked.
func tryLock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == unix.EINTR:
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

// keepOwner gives the file the owner and group of the file that it replaces. In general only root may do
// so; otherwise the file belongs to the caller.
func keepOwner(f *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok && (int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid()) {
		f.Chown(int(stat.Uid), int(stat.Gid))
	}
}
