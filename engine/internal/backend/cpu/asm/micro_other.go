//go:build (!amd64 && !arm64) || mcs_portable

package asm

var microKernels = [NumSets][]*MicroKernel{Portable: {microPortable}}

func peak(n int) int64 { return peakPortable(n) }
