//go:build unix

package driver

import "syscall"

// apart keeps a process out of the terminal's group: Ctrl-C is for this program, which ends the process
// itself.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
