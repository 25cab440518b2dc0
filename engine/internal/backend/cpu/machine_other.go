//go:build !linux

package cpu

// physicalMemory is how many bytes the machine has, 0 if unknown.
func physicalMemory() int64 { return 0 }
