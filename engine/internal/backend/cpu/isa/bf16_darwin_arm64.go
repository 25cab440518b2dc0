//go:build !mcs_portable

package isa

import "golang.org/x/sys/unix"

func detectBF16() bool {
	have, err := unix.SysctlUint32("hw.optional.arm.FEAT_BF16")
	return err == nil && have != 0
}
