//go:build amd64 && !linux && !mcs_portable

package isa

// requestTiles: other systems are not asked yet.
func requestTiles() bool { return false }
