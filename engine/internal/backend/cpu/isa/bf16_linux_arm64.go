//go:build !mcs_portable

package isa

import (
	"encoding/binary"
	"os"
)

// detectBF16 reads the auxiliary vector that the kernel gives each process: pairs of a tag and a value.
func detectBF16() bool {
	const (
		hwcap2 = 26
		bf16   = 1 << 14
	)
	vector, err := os.ReadFile("/proc/self/auxv")
	for ; err == nil && len(vector) >= 16; vector = vector[16:] {
		if binary.LittleEndian.Uint64(vector) == hwcap2 {
			return binary.LittleEndian.Uint64(vector[8:])&bf16 != 0
		}
	}
	return false
}
