//go:build amd64 && !linux && !mcs_portable

package isa

// requestTiles returns false: no way to ask other systems is written yet.
func requestTiles() bool { return false }
