//go:build !unix

package driver

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
