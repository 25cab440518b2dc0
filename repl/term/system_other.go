//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package term

func enableSequences() {}
