//go:build arm64 && !mcs_portable

package asm

import "golang.org/x/sys/cpu"

// vectorSets are the sets of arm64, of which every processor that Go runs on has NEON.
var vectorSets = []Set{NEON}

func detect() Set { return NEON }

// hasDot says whether there are dot products of bytes (FEAT_DotProd), hasBF16 whether there are those of bf16 (FEAT_BF16).
var hasDot, hasBF16 = cpu.ARM64.HasASIMDDP, detectBF16()
