//go:build amd64 && !mcs_portable

package isa

import (
	"sync"

	"golang.org/x/sys/cpu"
)

// vectorSets are the vector sets of amd64.
var vectorSets = []Set{AVX2, AVX512}

func detect() Set {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return AVX512
	case x.HasAVX2 && x.HasFMA && x.HasF16C:
		return AVX2
	}
	return Portable
}

// HasByteDot reports whether the processor has dot products of bytes (AVX512-VNNI).
func HasByteDot() bool { return level == AVX512 && cpu.X86.HasAVX512VNNI }

// HasBF16Dot reports whether the processor has dot products of bf16 (AVX512-BF16).
func HasBF16Dot() bool { return level == AVX512 && cpu.X86.HasAVX512BF16 }

// HasTiles reports whether the processor has tiles of bf16 (AMX) and the system lets the process use them.
func HasTiles() bool { return level == AVX512 && grantedTiles() }

var grantedTiles = sync.OnceValue(func() bool {
	return cpu.X86.HasAMXTile && cpu.X86.HasAMXBF16 && requestTiles()
})
