//go:build !amd64 || mcs_portable

package asm

func directKernels(Set) []*DirectKernel { return nil }
