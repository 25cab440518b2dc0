//go:build unix

package check

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that the Ctrl-C of a terminal does not reach it: the program
// that started it decides what is interrupted.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
