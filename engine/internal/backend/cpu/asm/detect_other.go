//go:build !amd64 || mcs_portable

package asm

func detect() Set { return Portable }
