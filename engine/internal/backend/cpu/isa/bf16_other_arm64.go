//go:build !linux && !darwin && !mcs_portable

package isa

// detectBF16: other systems are not asked yet.
func detectBF16() bool { return false }
