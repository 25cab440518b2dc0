//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package durable

import (
	"io/fs"
	"os"
)

// tryLock does nothing where there are no locks.
func tryLock(*os.File) error { return nil }

func keepOwner(*os.File, fs.FileInfo) {}
