//go:build arm64 && !mcs_portable

package asm

// vectorSets are the sets of arm64, of which every processor that Go runs on has NEON.
var vectorSets = []Set{NEON}

func detect() Set { return NEON }
