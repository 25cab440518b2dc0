//go:build !amd64 || mcs_portable

package asm

var microKernels = [...][]*MicroKernel{Portable: {microPortable}}

func peak(n int) int64 { return peakPortable(n) }
