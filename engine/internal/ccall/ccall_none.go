//go:build !((linux && (amd64 || arm64)) || (darwin && arm64)) || mcs_static

package ccall

import (
	"fmt"
	"runtime"
)

// Available says why C cannot be called here, or is nil.
func Available() error {
	return fmt.Errorf("this build of mcs for %s/%s cannot open libraries; %s", runtime.GOOS, runtime.GOARCH, advice)
}

func open(string) (uintptr, error) { return 0, Available() }

func symbol(uintptr, string) (uintptr, error) { return 0, Available() }

// enter cannot be reached: there is no Func to call.
func enter(*frame) { panic("ccall: " + Available().Error()) }
