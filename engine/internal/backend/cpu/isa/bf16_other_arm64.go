//go:build !linux && !darwin && !mcs_portable

package isa

// detectBF16 returns false: no way to ask other systems is written yet.
func detectBF16() bool { return false }
