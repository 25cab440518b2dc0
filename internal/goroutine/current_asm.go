//go:build amd64 || arm64

package goroutine

func current() uintptr

// word reads 8 bytes of the runtime's description of a goroutine.
func word(of, offset uintptr) uint64
