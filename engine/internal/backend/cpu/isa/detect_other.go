//go:build (!amd64 && !arm64) || mcs_portable

package isa

var vectorSets []Set

func detect() Set { return Portable }

// HasByteDot reports whether the processor has dot products of bytes.
func HasByteDot() bool { return false }
