//go:build unix

package check

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that the Ctrl-C of a terminal does not reach it: whoever started it
// decides what it interrupts.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
