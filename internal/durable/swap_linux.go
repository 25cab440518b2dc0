package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges two names in one step. Some file systems cannot.
func swap(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP:
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "swap", Old: a, New: b, Err: err}
}
