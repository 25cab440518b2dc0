//go:build !amd64 || mcs_portable

package asm

var doubleKernels = [NumSets]*DoubleKernel{Portable: doublePortable, NEON: doublePortable}
