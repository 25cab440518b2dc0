//go:build amd64 || arm64

package goroutine

func current() uintptr

// depth reads the upper end of the stack, the second word of the runtime's description of a goroutine.
func depth() uintptr

// word reads 8 bytes of the runtime's description of a goroutine.
func word(of, offset uintptr) uint64
