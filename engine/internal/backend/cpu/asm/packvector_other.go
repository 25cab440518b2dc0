//go:build (!amd64 && !arm64) || mcs_portable

package asm

func packVector(*float32, int, Source, int, int) int { return 0 }
