//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package unread

// Bytes is how many bytes can be read from a file at once, 0 where the system does not tell.
func Bytes(uintptr) int { return 0 }
