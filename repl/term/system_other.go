//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package term

import "os"

func enableSequences() {}

// lockFile does nothing where there are no locks.
func lockFile(*os.File) error { return nil }
