//go:build arm64 && !mcs_portable

package isa

import "golang.org/x/sys/cpu"

// vectorSets are the vector sets of arm64. Every arm64 processor that Go supports has NEON.
var vectorSets = []Set{NEON}

func detect() Set { return NEON }

// HasByteDot reports whether the processor has dot products of bytes (FEAT_DotProd).
func HasByteDot() bool { return level == NEON && cpu.ARM64.HasASIMDDP }

// HasBF16Dot reports whether the processor has dot products of bf16 (FEAT_BF16).
func HasBF16Dot() bool { return level == NEON && hasBF16 }

var hasBF16 = detectBF16()
