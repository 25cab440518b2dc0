package driver

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A disposition is C's struct sigaction: a handler, a mask of 128 bytes, flags and a restorer.
type disposition [19]uint64

// uninterrupted calls f while the system ignores Ctrl-C. cuDNN compiles with NVRTC in this process, whose
// handler of SIGINT does not run on the signal stack, so that a Go program would end with a fatal error;
// NVRTC installs none where the signal is ignored. It cannot be kept from SIGTERM, which ends the program
// anyway.
func (d *Driver) uninterrupted(f func()) {
	d.planning.Lock() // two that save what they find would not both restore it
	defer d.planning.Unlock()
	libc, err := ccall.Open("libc.so.6")
	if err != nil {
		f()
		return
	}
	sigaction, err := libc.Symbol("sigaction")
	if err != nil {
		f()
		return
	}
	const ignore = 1
	ignored, before := &disposition{ignore}, new(disposition)
	if sigaction.Call(uintptr(syscall.SIGINT), uintptr(unsafe.Pointer(ignored)), uintptr(unsafe.Pointer(before))) == 0 {
		defer func() {
			sigaction.Call(uintptr(syscall.SIGINT), uintptr(unsafe.Pointer(before)), 0)
			runtime.KeepAlive(before)
		}()
	}
	f()
}
