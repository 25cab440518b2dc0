//go:build !unix

package check

import "os/exec"

func apart(*exec.Cmd) {}
