//go:build !amd64 || mcs_portable

package asm

var microKernels = [NumSets][]*MicroKernel{Portable: {microPortable}, NEON: {microPortable}}

func peak(n int) int64 { return peakPortable(n) }
