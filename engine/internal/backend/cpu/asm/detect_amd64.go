//go:build amd64 && !mcs_portable

package asm

import "golang.org/x/sys/cpu"

// vectorSets are the sets of amd64.
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
