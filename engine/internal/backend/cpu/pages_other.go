//go:build !linux

package cpu

// givesPages is false: large buffers come from Go's heap, too.
const givesPages = false

func systemPages(n int) []byte { return nil }

func givePages([]byte) {}
