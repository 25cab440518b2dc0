package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges two names in one step. Some file systems cannot.
func swap(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "swap", Old: a, New: b, Err: err}
}
